import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore } from "./kit/faulty-store.js";
import { done, HeldHandler, openRuntime } from "./kit/runtime.js";

describe("a call with an idempotency key", () => {
  it("fifty of them at once make one task and run it once, and no caller sees an error", async () => {
    const held = new HeldHandler();
    const { runtime } = await openRuntime(held.handler);
    const call = { owner: "alice", toolName: "work", arguments: { n: 1 }, idempotencyKey: "k" };
    const created = await Promise.all(Array.from({ length: 50 }, () => runtime.create(call)));
    await settle();
    expect(new Set(created.map(({ task }) => task.taskId)).size).toBe(1);
    expect(created.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(held.contexts).toHaveLength(1);
    held.end();
    await settle();
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("a retry while the first is still on its way to the store waits for it", async () => {
    const store = new FaultyStore();
    const { runtime } = await openRuntime(done, { store });
    let land = (): void => {};
    const landing = new Promise<void>((resolve) => {
      land = resolve;
    });
    store.before = ({ method }) => (method === "create" ? landing : undefined);
    const call = { owner: "alice", toolName: "work", arguments: {}, idempotencyKey: "k" };
    const both = Promise.all([runtime.create(call), runtime.create(call)]);
    await settle();
    land();
    const [first, second] = await both;
    expect(second.task.taskId).toBe(first.task.taskId);
  });

  it("answers the first task whatever has become of it", async () => {
    const { runtime, clock } = await openRuntime(done);
    const call = { owner: "alice", toolName: "work", arguments: { a: 1, b: [{ x: 1, y: 2 }] }, idempotencyKey: "k" };
    const { task } = await runtime.create(call);
    await clock.advance(1000);
    const turned = { ...call, arguments: { b: [{ y: 2, x: 1 }], a: 1 }, ttlMs: 5 };
    const retry = await runtime.create(turned);
    expect(retry).toMatchObject({
      replayed: true,
      task: { taskId: task.taskId, status: "completed", ttlMs: task.ttlMs },
    });
  });

  it("on another call is refused with the reason, and touches neither task nor key", async () => {
    const { runtime } = await openRuntime(done);
    runtime.define({ name: "other", handler: done });
    const call = { owner: "alice", toolName: "work", arguments: { a: 1 }, idempotencyKey: "k" };
    const { task } = await runtime.create(call);
    await expect(runtime.create({ ...call, arguments: { a: 2 } })).rejects.toMatchObject({
      code: "idempotency_conflict",
      message: expect.stringContaining("other arguments"),
    });
    await expect(runtime.create({ ...call, toolName: "other" })).rejects.toMatchObject({
      code: "idempotency_conflict",
      message: expect.stringContaining("work"),
    });
    expect((await runtime.create(call)).task.taskId).toBe(task.taskId);
    expect((await runtime.list("alice")).tasks).toHaveLength(1);
  });

  it("belongs to its owner: the same key of others names tasks of their own", async () => {
    const { runtime } = await openRuntime(done);
    const ids = new Set<string>();
    for (const [owner, idempotencyKey] of [
      ["a:b", "c"],
      ["a", "b:c"],
      ["a\u0000", "b"],
      ["a", "\u0000b"],
      ["a|b", "c"],
      ["a/b", "c"],
      ["{a}", "k"],
      ["a", "{a}k"],
      ["__proto__", "__proto__"],
    ] as const) {
      const { task, replayed } = await runtime.create({
        owner,
        idempotencyKey,
        toolName: "work",
        arguments: { owner },
      });
      expect(replayed).toBe(false);
      ids.add(task.taskId);
    }
    expect(ids.size).toBe(9);
    expect((await runtime.list("a")).tasks).toHaveLength(3);
  });

  it("is free again once its task has expired, though nothing has swept it", async () => {
    const { runtime, clock } = await openRuntime(done, { sweepIntervalMs: 10 ** 9 });
    const call = { owner: "alice", toolName: "work", arguments: { n: 1 }, idempotencyKey: "k", ttlMs: 1000 };
    const { task } = await runtime.create(call);
    await clock.advance(999);
    expect((await runtime.create(call)).replayed).toBe(true);
    await clock.advance(1);
    const fresh = await runtime.create({ ...call, arguments: { n: 2 } });
    expect(fresh.replayed).toBe(false);
    expect(fresh.task.taskId).not.toBe(task.taskId);
  });

  it("sweeping the expired task frees its key only, not the one that a later task holds", async () => {
    const { runtime, clock } = await openRuntime(done);
    const call = { owner: "alice", toolName: "work", arguments: {}, idempotencyKey: "k", ttlMs: 0 };
    await runtime.create(call);
    await settle();
    const second = await runtime.create({ ...call, ttlMs: 10 ** 7 });
    await settle();
    await clock.advance(61_000);
    expect((await runtime.create(call)).task.taskId).toBe(second.task.taskId);
  });

  it("a call that never became a task does not burn it", async () => {
    const { runtime } = await openRuntime(done);
    const call = { owner: "alice", toolName: "work", arguments: {}, idempotencyKey: "k" };
    await expect(runtime.create({ ...call, ttlMs: -1 })).rejects.toMatchObject({ code: "invalid_ttl" });
    await expect(runtime.create({ ...call, toolName: "nope" })).rejects.toMatchObject({ code: "unknown_tool" });
    expect((await runtime.create({ ...call, arguments: { other: 1 } })).replayed).toBe(false);
  });

  it("a call without one is never taken for a retry", async () => {
    const { start } = await openRuntime(done);
    expect((await start()).taskId).not.toBe((await start()).taskId);
  });
});
