import { DEFAULT_TTL_MS, MAX_TTL_MS, MemoryStore } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { done, HeldHandler, openRuntime } from "./kit/runtime.js";

const DAY = 24 * 60 * 60_000;
/** Reads have to filter by themselves. */
const UNSWEPT = { sweepIntervalMs: 1000 * DAY };

describe("how long a task is kept", () => {
  it.each([
    ["nothing", undefined, DEFAULT_TTL_MS],
    ["null", null, MAX_TTL_MS],
    ["a number", 60_000, 60_000],
    ["a fraction", 1.9, 1],
    ["more than is allowed", 10 ** 15, MAX_TTL_MS],
    ["0", 0, 0],
  ])("for a wish of %s", async (_what, ttlMs, kept) => {
    const { start, clock, get } = await openRuntime(done, UNSWEPT);
    const task = await start({ ttlMs });
    expect(task.ttlMs).toBe(kept);
    await settle();
    if (kept > 0) {
      await clock.advance(kept - 1);
      expect(await get(task.taskId)).not.toBeNull();
      await clock.advance(1);
    }
    expect(await get(task.taskId)).toBeNull();
  });

  it("is the tool's own wish before the runtime's, and never more than the cap", async () => {
    expect(await (await openRuntime(done, { tool: { ttlMs: 77 } })).start()).toMatchObject({ ttlMs: 77 });
    expect(await (await openRuntime(done, { tool: { ttlMs: 10 ** 12 } })).start()).toMatchObject({ ttlMs: MAX_TTL_MS });
    expect(await (await openRuntime(done, { defaultTtlMs: 500, maxTtlMs: 100 })).start()).toMatchObject({ ttlMs: 100 });
  });

  it("is counted from the end: a task that runs longer than its ttl is not touched", async () => {
    const held = new HeldHandler();
    const { start, clock, get, runtime } = await openRuntime(held.handler, { sweepIntervalMs: 50 });
    const { taskId } = await start({ ttlMs: 100, idempotencyKey: "k" });
    await clock.advance(2000);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    expect((await start({ idempotencyKey: "k" })).taskId).toBe(taskId);
    held.end();
    await settle();
    await clock.advance(99);
    expect(await get(taskId)).toMatchObject({ status: "completed" });
    await clock.advance(1);
    expect(await get(taskId)).toBeNull();
    expect((await runtime.list("alice")).tasks).toEqual([]);
  });

  it("30 and 400 days are kept as long as they say, on no timer that overflows", async () => {
    const { start, clock, get } = await openRuntime(done, { maxTtlMs: Number.MAX_SAFE_INTEGER, ...UNSWEPT });
    const month = await start({ ttlMs: 30 * DAY });
    const year = await start({ ttlMs: 400 * DAY });
    const ever = await start({ ttlMs: Number.MAX_SAFE_INTEGER });
    await clock.advance(30 * DAY - 1);
    expect(await get(month.taskId)).not.toBeNull();
    await clock.advance(1);
    expect(await get(month.taskId)).toBeNull();
    await clock.advance(369 * DAY);
    expect(await get(year.taskId)).not.toBeNull();
    expect(await get(ever.taskId)).not.toBeNull();
  });
});

describe("a task that has expired", () => {
  it("is answered by everything as one that never was, though it is still there", async () => {
    const { runtime, start, clock } = await openRuntime(done, UNSWEPT);
    const { taskId } = await start({ ttlMs: 1000 });
    await clock.advance(1000);
    for (const id of [taskId, "tsk_invented"]) {
      expect(await runtime.get("alice", id)).toBeNull();
      expect(await runtime.wait("alice", id)).toBeNull();
      expect(await runtime.cancel("alice", id)).toBeNull();
      expect(await runtime.answer("alice", id, "k", {})).toBeNull();
    }
    expect((await runtime.list("alice")).tasks).toEqual([]);
  });

  it("whoever waited gets the record, even of a task that is not kept at all", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start({ ttlMs: 0 });
    const waiting = runtime.wait("alice", taskId);
    await settle();
    held.end();
    expect(await waiting).toMatchObject({ status: "completed" });
    expect(await runtime.get("alice", taskId)).toBeNull();
  });

  it("cancelling a task that is not kept answers how it ended", async () => {
    const held = new HeldHandler();
    const { runtime, start, clock } = await openRuntime(held.handler);
    const { taskId } = await start({ ttlMs: 0 });
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(10_000);
    expect(await cancelling).toMatchObject({ cancelled: true, task: { status: "cancelled" } });
  });
});

describe("sweeping", () => {
  it("removes what has expired for good, in bounded batches, though nobody reads", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const batches: number[] = [];
    const sweep = store.sweep.bind(store);
    store.sweep = async (limit) => {
      const removed = await sweep(limit);
      batches.push(removed);
      return removed;
    };
    const { start, runtime } = await openRuntime(done, { store, clock });
    for (let n = 0; n < 1200; n += 1) await start({ ttlMs: 1000, idempotencyKey: `k${n}` });
    await clock.advance(29_999);
    expect(batches).toEqual([]);
    await clock.advance(1);
    await clock.advance(1);
    expect(batches).toEqual([500, 500, 200]);
    expect(await store.list({ limit: 1 })).toEqual({ tasks: [] });
    expect(runtime.gauges).toMatchObject({ attempts: 0, watchedTasks: 0 });
  });

  it("is one timer for all tasks, and none of a task's own", async () => {
    const { start, clock } = await openRuntime(done);
    const before = clock.pending;
    for (let n = 0; n < 500; n += 1) await start();
    await settle();
    expect(clock.pending).toBe(before);
  });

  it("goes on after a round that failed, having said so", async () => {
    const clock = new FakeClock();
    const store = new FaultyStore(clock);
    const { log } = await openRuntime(done, { store, clock });
    store.before = ({ method }) => (method === "sweep" ? outage() : undefined);
    await clock.advance(30_000);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringContaining("swept") }),
    );
    store.before = () => {};
    await clock.advance(30_000);
    expect(store.calls.filter(({ method }) => method === "sweep")).toHaveLength(2);
  });
});
