import type { Clock, TaskRecord } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import {
  type Bench,
  type BenchOptions,
  done,
  endless,
  HeldHandler,
  openRuntime,
  stoppable,
  taskOf,
} from "./kit/runtime.js";
import { SharedBackend, type SharedStore, type SignalKind } from "./kit/shared-store.js";

/** Two runtimes, as of two processes, on one store and one clock. */
async function pair(
  handlers: [Parameters<typeof openRuntime>[0], Parameters<typeof openRuntime>[0]],
  { signals = "delivered", ...options }: BenchOptions & { signals?: SignalKind } = {},
): Promise<{ one: Bench; other: Bench; clock: FakeClock; stores: [SharedStore, SharedStore] }> {
  const clock = new FakeClock();
  const backend = new SharedBackend(clock);
  const stores: [SharedStore, SharedStore] = [backend.handle(signals), backend.handle(signals)];
  const one = await openRuntime(handlers[0], { cancelGraceMs: 500, ...options, clock, store: stores[0] });
  const other = await openRuntime(handlers[1], { cancelGraceMs: 500, ...options, clock, store: stores[1] });
  return { one, other, clock, stores };
}

describe("two runtimes on one store", () => {
  it("one answers for what the other runs, all of it", async () => {
    const held = new HeldHandler();
    const { one, other } = await pair([held.handler, endless]);
    const { taskId } = await one.start({ idempotencyKey: "k" });
    await settle();
    taskOf(held.contexts[0]).recordOutput(["half"]);
    await settle();
    expect(await other.get(taskId)).toMatchObject({ status: "working", partialOutput: ["half"] });
    expect((await other.start({ idempotencyKey: "k" })).taskId).toBe(taskId);
    const waiting = other.runtime.wait("alice", taskId);
    await settle();
    held.end();
    expect(await waiting).toEqual(await one.get(taskId));
    expect(other.runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
  });

  it.each<[SignalKind, number]>([
    ["delivered", 0],
    ["none", 1000],
    ["lost", 5000],
  ])("with signals %s, who waits elsewhere hears of the end within %i ms", async (signals, withinMs) => {
    const held = new HeldHandler();
    const { one, other, clock } = await pair([held.handler, endless], { signals });
    const { taskId } = await one.start();
    const waiting = Promise.all(Array.from({ length: 50 }, () => other.runtime.wait("alice", taskId)));
    let ended: (TaskRecord | null)[] | undefined;
    void waiting.then((records) => {
      ended = records;
    });
    await settle();
    held.end();
    await settle();
    if (withinMs > 0) {
      expect(ended).toBeUndefined();
      await clock.advance(withinMs);
    }
    await settle();
    expect(ended).toHaveLength(50);
    expect(ended?.[0]).toMatchObject({ status: "completed" });
  });

  it.each<[SignalKind, number]>([
    ["delivered", 0],
    ["none", 2000],
    ["lost", 10_000],
  ])(
    "with signals %s, a cancellation from elsewhere stops the work within %i ms, interrupt first",
    async (signals, withinMs) => {
      const steps: string[] = [];
      const { one, other, clock } = await pair(
        [
          (args, context) => {
            taskOf(context).registerInterrupt(() => steps.push("interrupt"));
            taskOf(context).recordOutput(["half"]);
            return stoppable(args, context);
          },
          endless,
        ],
        { signals },
      );
      const { taskId } = await one.start();
      await settle();
      const cancelling = other.runtime.cancel("alice", taskId).then((answer) => {
        steps.push("answer");
        return answer;
      });
      await clock.advance(withinMs);
      await settle();
      expect(steps).toEqual(["interrupt", "answer"]);
      expect(await cancelling).toMatchObject({
        cancelled: true,
        task: { status: "cancelled", partialOutput: ["half"], cancellation: { how: "stopped" } },
      });
      expect(one.runtime.gauges.running).toBe(0);
    },
  );

  it("a runner that does not answer is done without, in bounded time", async () => {
    const { one, other, clock, stores } = await pair([stoppable, endless], { signals: "none", leaseMs: 10 ** 6 });
    const { taskId } = await one.start();
    await settle();
    stores[0].cut = true;
    const cancelling = other.runtime.cancel("alice", taskId);
    await clock.advance(3000);
    expect(await cancelling).toMatchObject({ cancelled: true, task: { cancellation: { how: "still_running" } } });
    stores[0].cut = false;
    await clock.advance(1000);
    expect(one.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("a question is answered from elsewhere", async () => {
    const { one, other, clock } = await pair([
      async (_args, context) => ({
        kind: "result",
        result: await taskOf(context).ask({ method: "elicitation/create", params: {} }),
      }),
      endless,
    ]);
    const { taskId } = await one.start();
    await settle();
    const key = (await other.get(taskId))?.questions[0]?.key ?? "";
    const both = await Promise.all([
      one.runtime.answer("alice", taskId, key, { from: "one" }),
      other.runtime.answer("alice", taskId, key, { from: "other" }),
    ]);
    expect([...both].sort()).toEqual(["accepted", "ignored"]);
    await settle();
    await clock.advance(0);
    const winner = both[0] === "accepted" ? "one" : "other";
    expect(await other.get(taskId)).toMatchObject({ status: "completed", outcome: { result: { from: winner } } });
  });

  it("watchers elsewhere are told each change once, in order, though hints come more than once", async () => {
    const held = new HeldHandler();
    const { one, other } = await pair([held.handler, endless]);
    const { taskId } = await one.start();
    await settle();
    const versions: number[] = [];
    other.runtime.subscribe(taskId, (news) => news.type === "changed" && versions.push(news.task.version));
    for (let n = 0; n < 10; n += 1) await taskOf(held.contexts[0]).setWorking(`step ${n}`);
    await settle();
    held.end();
    await settle();
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    expect(versions.at(-1)).toBe((await other.get(taskId))?.version);
  });

  it("a lease is renewed well before it passes, and a live peer's task is left alone", async () => {
    const held = new HeldHandler();
    const { one, other, clock, stores } = await pair([held.handler, endless], { leaseMs: 3000 });
    const { taskId } = await one.start();
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1000);
      const attempt = (await other.get(taskId))?.attempt;
      expect(attempt).toMatchObject({ state: "leased", epoch: 1, runnerId: one.runtime.runnerId });
      expect(attempt?.state === "leased" && attempt.leaseUntilAt - clock.now()).toBeGreaterThan(1000);
    }
    expect(stores[0].updates.length).toBeLessThan(70);
    expect(held.contexts).toHaveLength(1);
    held.end();
    await settle();
    expect(await other.get(taskId)).toMatchObject({ status: "completed" });
  });

  it("a store of one process sees no renewal, no look for lost tasks and no poll", async () => {
    const held = new HeldHandler();
    const { start, clock, get } = await openRuntime(held.handler);
    const { taskId } = await start();
    await clock.advance(3_600_000);
    expect(await get(taskId)).toMatchObject({ version: 1 });
    held.end();
  });

  it("the one that hears a hint while it is reading reads again: no wake-up is lost", async () => {
    const held = new HeldHandler();
    const clock = new FakeClock();
    const backend = new SharedBackend(clock);
    const slow = backend.handle();
    const one = await openRuntime(held.handler, { clock, store: backend.handle() });
    const other = await openRuntime(endless, { clock, store: slow });
    const { taskId } = await one.start();
    const waiting = other.runtime.wait("alice", taskId);
    await settle();
    const get = slow.get.bind(slow);
    const answers: (() => void)[] = [];
    slow.get = async (id) => {
      const read = await get(id);
      await new Promise<void>((resolve) => answers.push(resolve));
      return read;
    };
    await taskOf(held.contexts[0]).setWorking("busy");
    await settle();
    held.end();
    await settle();
    // The read that the first hint began now answers what was before the end.
    answers.shift()?.();
    await settle();
    answers.shift()?.();
    expect(await waiting).toMatchObject({ status: "completed" });
  });
});

describe("time of the store's own", () => {
  it("decides leases, deadlines and instants, however wrong the host's clock is", async () => {
    for (const offMs of [3_600_000, -3_600_000]) {
      const clock = new FakeClock();
      const storeClock = { ...clock, now: () => clock.now() + offMs } as Clock;
      const store = new SharedBackend(storeClock).handle();
      const timed = Object.assign(store, { now: async () => clock.now() + offMs });
      const { start, get, runtime } = await openRuntime(endless, {
        clock,
        store: timed,
        cancelGraceMs: 500,
        tool: { maxRunMs: 2000 },
      });
      expect(runtime.now()).toBe(clock.now() + offMs);
      const { taskId, createdAt } = await start();
      expect(createdAt).toBe(clock.now() + offMs);
      await clock.advance(1999);
      expect(await get(taskId)).toMatchObject({ status: "working" });
      await clock.advance(501);
      expect(await get(taskId)).toMatchObject({ status: "failed", finishedAt: createdAt + 2500 });
    }
  });

  it("does not go back because an answer was held up on its way", async () => {
    const clock = new FakeClock();
    const offMs = 3_600_000;
    let heldUpMs = 0;
    const now = async (): Promise<number> => {
      const read = clock.now() + offMs;
      if (heldUpMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, heldUpMs));
      return read;
    };
    const store = Object.assign(new SharedBackend(clock).handle(), { now });
    const { runtime } = await openRuntime(endless, { clock, store, leaseMs: 3000 });
    heldUpMs = 800;
    await clock.advance(10_000);
    expect(runtime.now()).toBe(clock.now() + offMs);
  });
});

it("both runtimes together leave nothing behind", async () => {
  const { one, other, clock } = await pair([done, done]);
  await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : other).start()));
  await clock.advance(20_000);
  for (const { runtime } of [one, other])
    expect(runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
});
