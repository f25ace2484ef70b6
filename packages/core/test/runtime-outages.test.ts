import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, hang, outage } from "./kit/faulty-store.js";
import { text } from "./kit/records.js";
import { done, HeldHandler, newRuntime, openRuntime, stoppable, taskOf } from "./kit/runtime.js";

describe("a store that is out", () => {
  it.each([
    ["rejects once", (failures: number) => (failures === 1 ? outage() : undefined)],
    ["rejects for a minute", (failures: number) => (failures <= 12 ? outage() : undefined)],
    ["hangs for three calls", (failures: number) => (failures <= 3 ? hang() : undefined)],
  ])("and %s at the last move: the outcome lands when it is back, and nobody sees it before", async (_how, fault) => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { runtime, start, get, clock, log } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    let failures = 0;
    store.before = ({ changes }) => {
      if (changes?.status === undefined) return undefined;
      failures += 1;
      return fault(failures);
    };
    held.end();
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "working" });
    const waiting = runtime.wait("alice", taskId);
    await clock.advance(120_000);
    expect(await waiting).toMatchObject({ status: "completed", outcome: { result: text("done") } });
    expect(log.errors()).not.toEqual([]);
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("frees the place of work that has settled, though its outcome cannot be written", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { InProcessRunner } = await import("@claimcheck/core");
    const { start, clock } = await openRuntime(held.handler, {
      store,
      runner: new InProcessRunner({ concurrency: 1 }),
    });
    const first = await start();
    const second = await start();
    await settle();
    store.before = ({ taskId, changes }) => (taskId === first.taskId && changes !== undefined ? outage() : undefined);
    held.end();
    await clock.advance(1000);
    expect(held.contexts.map(({ task }) => task?.taskId)).toEqual([first.taskId, second.taskId]);
    held.end();
  });

  it("when a queued task's turn comes starts it as soon as it is back, once", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { InProcessRunner } = await import("@claimcheck/core");
    const { runtime, start, clock } = await openRuntime(held.handler, {
      store,
      runner: new InProcessRunner({ concurrency: 1 }),
    });
    await start();
    const second = await start();
    await settle();
    let failures = 0;
    store.before = ({ changes }) => {
      if (changes?.attempt?.state !== "leased" || failures === 4) return;
      failures += 1;
      outage();
    };
    held.end();
    await clock.advance(60_000);
    expect(held.contexts.map(({ task }) => task?.taskId)).toContain(second.taskId);
    expect(held.contexts).toHaveLength(2);
    held.end();
    await settle();
    expect(await runtime.get("alice", second.taskId)).toMatchObject({ status: "completed" });
  });

  it("rejects reads, and answers to questions that were not stored", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { runtime, start, get } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    const answer = taskOf(held.contexts[0]).ask({ method: "elicitation/create", params: {} });
    answer.catch(() => {});
    await settle();
    const key = (await get(taskId))?.questions[0]?.key ?? "";
    store.before = ({ method }) => (method === "update" ? outage() : undefined);
    await expect(runtime.answer("alice", taskId, key, { n: 1 })).rejects.toThrow("the store is out");
    store.before = () => {};
    expect(await runtime.answer("alice", taskId, key, { n: 2 })).toBe("accepted");
    expect(await answer).toEqual({ n: 2 });
    held.end();
  });

  it.each(["setWorking", "checkpoint"] as const)(
    "makes %s reject, and shows nobody what is not stored",
    async (method) => {
      const store = new FaultyStore();
      const held = new HeldHandler();
      const { start, get } = await openRuntime(held.handler, { store });
      const { taskId } = await start();
      await settle();
      const before = await get(taskId);
      store.before = (call) => (call.method === "update" ? outage() : undefined);
      await expect(taskOf(held.contexts[0])[method]("x")).rejects.toThrow("the store is out");
      store.before = () => {};
      expect(await get(taskId)).toEqual(before);
      held.end();
    },
  );

  it("that answers nothing but conflicts is given up, not asked for ever", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start } = await openRuntime(held.handler, { store });
    await start();
    await settle();
    store.update = async () => "conflict";
    await expect(taskOf(held.contexts[0]).setWorking("x")).rejects.toThrow("moved on");
    store.update = async () => null;
    held.end();
    await settle();
  });
});

describe("a store that hangs", () => {
  it("is waited for by get, list and wait no longer than its time-out", async () => {
    const store = new FaultyStore();
    const { runtime, clock } = await openRuntime(done, { store, storeTimeoutMs: 1000 });
    store.before = ({ method }) => (method === "get" || method === "list" ? hang() : undefined);
    const asked = Promise.allSettled([
      runtime.get("alice", "t"),
      runtime.list("alice"),
      runtime.wait("alice", "t"),
      runtime.cancel("alice", "t"),
    ]);
    await clock.advance(1000);
    for (const answer of await asked)
      expect(answer).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringContaining("within 1000 ms") },
      });
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("does not hold up closing for longer than its time-out and the grace", async () => {
    const store = new FaultyStore();
    const bench = newRuntime(stoppable, { store, storeTimeoutMs: 1000, cancelGraceMs: 500 });
    await bench.runtime.open();
    for (let n = 0; n < 20; n += 1) await bench.start();
    await settle();
    store.before = () => hang();
    let closed: unknown = "not yet";
    const closing = bench.runtime.close().catch((error: unknown) => error);
    void closing.then((how) => {
      closed = how;
    });
    await bench.clock.advance(4000);
    expect(closed).toMatchObject({ name: "StoreTimeoutError" });
    expect(bench.runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
    store.before = () => {};
    await bench.clock.advance(60_000);
  });
});
