/** Whatever the engine waits by may answer at once, with nothing or with an error: it must not spin for it, nor fill the log. */
import { FakeClock, settle } from "@claimcheck/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { HeldHandler, openRuntime } from "./kit/runtime.js";
import { SharedBackend } from "./kit/shared-store.js";

it("a store that rejects at once for a minute is asked now and then, and logged about less than once a second", async () => {
  const store = new FaultyStore();
  const held = new HeldHandler();
  const { runtime, start, clock, log } = await openRuntime(held.handler, { store, leaseMs: 120_000 });
  const taskIds = await Promise.all(Array.from({ length: 50 }, async () => (await start()).taskId));
  await settle();
  const waiting = Promise.all(taskIds.map((taskId) => runtime.wait("alice", taskId)));
  await settle();
  store.before = outage;
  store.calls.length = 0;
  log.lines.length = 0;
  for (const { task } of held.contexts) task?.recordOutput(["half"]);
  await settle();
  held.end();
  await clock.advance(60_000);
  expect(log.lines.length).toBeGreaterThan(0);
  expect(log.lines.length).toBeLessThan(60);
  // For each of the fifty tasks a read a second, a try of its output, and one in five of its end.
  expect(store.calls.length).toBeLessThan(50 * 60 * 3);
  store.before = () => {};
  await clock.advance(5000);
  expect((await waiting).map((task) => task?.status)).toEqual(taskIds.map(() => "completed"));
});

it("signals that say that something changed, without end, do not keep the store busy, nor hide what did change", async () => {
  const clock = new FakeClock();
  const backend = new SharedBackend(clock);
  const held = new HeldHandler();
  const one = await openRuntime(held.handler, { clock, store: backend.handle("lost") });
  const { taskId } = await one.start();
  let listener: (taskId: string | null) => void = () => {};
  const subscribe = (given: typeof listener): (() => void) => {
    listener = given;
    return () => {};
  };
  const store = Object.assign(backend.handle("none"), { signals: { publish: () => {}, subscribe } });
  let reads = 0;
  const get = store.get.bind(store);
  store.get = (id) => {
    reads += 1;
    return get(id);
  };
  const other = await openRuntime(held.handler, { clock, store });
  const waiting = other.runtime.wait("alice", taskId);
  await settle();
  reads = 0;
  let isOn = true;
  onTestFinished(() => {
    isOn = false;
  });
  const again = (): void => {
    if (!isOn) return;
    for (let n = 0; n < 10; n += 1) listener(null);
    setImmediate(again);
  };
  again();
  // In steps, each of which is several turns of the event loop, and of the signals.
  for (let n = 0; n < 100; n += 1) await clock.advance(10);
  // Twenty a second, and the two that the store is asked by itself.
  expect(reads).toBeGreaterThan(10);
  expect(reads).toBeLessThanOrEqual(25);
  held.end();
  await clock.advance(100);
  expect(await waiting).toMatchObject({ status: "completed" });
});
