import type { ToolContext } from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/fixtures/refusal.js";
import { FaultyStore, hang, outage } from "./kit/faulty-store.js";
import { text } from "./kit/records.js";
import { done, HeldHandler, newRuntime, openRuntime } from "./kit/runtime.js";

const codeOf = async (work: Promise<unknown>) => (await refusalOf(work)).code;

describe("creating a task", () => {
  it("answers the record as it was created, working, though the work has ended meanwhile", async () => {
    const { start, get, clock } = await openRuntime(done);
    const task = await start({ arguments: { repo: "x" } });
    expect(task).toMatchObject({
      owner: "alice",
      toolName: "work",
      arguments: { repo: "x" },
      status: "working",
      createdAt: clock.now(),
      lastUpdatedAt: clock.now(),
      version: 1,
    });
    expect(task.taskId).toMatch(/^tsk_[\w-]{22}$/);
    await settle();
    expect(await get(task.taskId)).toMatchObject({ status: "completed", outcome: { result: text("done") } });
  });

  it("every read of a finished task answers the same, from anywhere, as often as it is asked", async () => {
    const { start, runtime } = await openRuntime(done);
    const { taskId } = await start();
    const first = await runtime.wait("alice", taskId);
    const again = await Promise.all(Array.from({ length: 6 }, () => runtime.get("alice", taskId)));
    for (const read of again) expect(read).toEqual(first);
    for (let read = 0; read < 3; read += 1) expect((await runtime.list("alice")).tasks).toHaveLength(1);
  });

  it("is answered only when the record is durable, and not before", async () => {
    const store = new FaultyStore();
    const { start, runtime } = await openRuntime(done, { store });
    let landed = (): void => {};
    const landing = new Promise<void>((resolve) => {
      landed = resolve;
    });
    store.before = ({ method }) => (method === "create" ? landing : undefined);
    let answered = false;
    const creating = start().then((task) => {
      answered = true;
      return task;
    });
    await settle();
    expect(answered).toBe(false);
    landed();
    const { taskId } = await creating;
    expect(await runtime.get("alice", taskId)).not.toBeNull();
  });

  it("when the store refuses, the tool never starts, the key stays free and its place as well", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { store });
    store.before = ({ method }) => (method === "create" ? outage() : undefined);
    for (let tries = 0; tries < 150; tries += 1)
      await expect(start({ idempotencyKey: "k" })).rejects.toThrow("the store is out");
    await settle();
    expect(held.contexts).toHaveLength(0);
    store.before = () => {};
    await start({ idempotencyKey: "k" });
    await settle();
    expect(held.contexts).toHaveLength(1);
    held.end();
    await settle();
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("a store that hangs is waited for no longer than its time-out, and takes nobody's place meanwhile", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { runtime, start, clock } = await openRuntime(held.handler, { store, storeTimeoutMs: 1000 });
    store.before = ({ method }) => (method === "create" ? hang() : undefined);
    const hung = Promise.allSettled(Array.from({ length: 200 }, () => start()));
    await clock.advance(1000);
    for (const outcome of await hung)
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreTimeoutError" } });
    store.before = () => {};
    await Promise.all(Array.from({ length: 100 }, () => start()));
    await settle();
    expect(runtime.gauges.running).toBe(100);
    held.end();
  });

  it("a record that lands after its time-out runs, and a retry with its key finds it", async () => {
    const store = new FaultyStore();
    const { runtime, start, clock } = await openRuntime(done, { store, storeTimeoutMs: 1000 });
    let land = (): void => {};
    const landing = new Promise<void>((resolve) => {
      land = resolve;
    });
    store.before = ({ method }) => (method === "create" ? landing : undefined);
    const late = start({ idempotencyKey: "k" });
    late.catch(() => {});
    await clock.advance(1000);
    await expect(late).rejects.toThrow("create within 1000 ms");
    store.before = () => {};
    land();
    await settle();
    const retry = await runtime.create({ owner: "alice", toolName: "work", arguments: {}, idempotencyKey: "k" });
    expect(retry.replayed).toBe(true);
    expect(await runtime.wait("alice", retry.task.taskId)).toMatchObject({ status: "completed" });
  });

  it("hands the handler its arguments, to do with as it likes, and what of the request is kept", async () => {
    const seen: ToolContext[] = [];
    const { runtime, get } = await openRuntime((args, context) => {
      seen.push(context);
      args.added = true;
      return { kind: "result", result: args };
    });
    const { task } = await runtime.create({
      owner: "alice",
      toolName: "work",
      arguments: { n: 1 },
      request: { principal: "p" },
      input: { parsed: true },
    });
    await settle();
    expect(seen[0]).toMatchObject({ request: { principal: "p" }, input: { parsed: true } });
    expect(await get(task.taskId)).toMatchObject({ arguments: { n: 1 }, outcome: { result: { n: 1, added: true } } });
  });

  it("keeps on the record what the tool says of its tasks", async () => {
    const tool = { pollIntervalMs: 250, maxRunMs: 9000, recovery: "retry" as const, ttlMs: 5 };
    const { start } = await openRuntime(done, { tool });
    expect(await start()).toMatchObject(tool);
  });

  it.each([
    ["a tool that is not defined", { toolName: "nope" }, "unknown_tool"],
    ["a tool named after a member of every object", { toolName: "constructor" }, "unknown_tool"],
    ["a key that is none", { idempotencyKey: 5 }, "invalid_idempotency_key"],
    ["a null key", { idempotencyKey: null }, "invalid_idempotency_key"],
    ["arguments that are too large", { arguments: { a: "x".repeat(5_000_000) } }, "invalid_arguments"],
    ["arguments that JSON cannot carry", { arguments: { a: Number.POSITIVE_INFINITY } }, "invalid_arguments"],
    ["a ttl that is no number", { ttlMs: "60000" as unknown as number }, "invalid_ttl"],
    ["a ttl below 0", { ttlMs: -1 }, "invalid_ttl"],
    ["a ttl without end", { ttlMs: Number.POSITIVE_INFINITY }, "invalid_ttl"],
    ["a ttl that is NaN", { ttlMs: Number.NaN }, "invalid_ttl"],
  ])("refuses %s, runs nothing and keeps nothing", async (_what, over, code) => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    expect(await codeOf(start(over))).toBe(code);
    await settle();
    expect(held.contexts).toHaveLength(0);
    expect((await runtime.list("alice")).tasks).toEqual([]);
  });

  it("is refused before the runtime is open and after it is closed", async () => {
    const bench = newRuntime(done);
    expect(await codeOf(bench.start())).toBe("not_open");
    await bench.runtime.open();
    await bench.start();
    await bench.runtime.close();
    expect(await codeOf(bench.start())).toBe("not_open");
  });

  it("a tool that is defined anew is the one that runs from then on", async () => {
    const { runtime, start, get } = await openRuntime(done);
    runtime.define({ name: "work", handler: () => ({ kind: "result", result: { version: 2 } }) });
    const { taskId } = await start();
    await settle();
    expect(await get(taskId)).toMatchObject({ outcome: { result: { version: 2 } } });
  });

  it("two runtimes on memory stores of their own know nothing of each other's tasks", async () => {
    let runs = 0;
    const count = (): ReturnType<typeof done> => {
      runs += 1;
      return { kind: "result", result: {} };
    };
    const one = await openRuntime(count);
    const other = await openRuntime(count);
    const { taskId } = await one.start();
    await settle();
    expect(await other.get(taskId)).toBeNull();
    expect(await other.runtime.wait("alice", taskId)).toBeNull();
    expect(await other.runtime.cancel("alice", taskId)).toBeNull();
    expect(runs).toBe(1);
  });
});

describe("whose a task is", () => {
  it("another owner's, an invented and a malformed id are answered alike by everything", async () => {
    const { runtime, start } = await openRuntime(done);
    const { taskId } = await start();
    await settle();
    for (const id of [taskId, "tsk_invented", "", "__proto__", "constructor", "x".repeat(10_000), "a\u0000\n"]) {
      expect(await runtime.get("bob", id)).toBeNull();
      expect(await runtime.wait("bob", id)).toBeNull();
      expect(await runtime.cancel("bob", id)).toBeNull();
      expect(await runtime.answer("bob", id, "k", {})).toBeNull();
    }
    expect((await runtime.list("bob")).tasks).toEqual([]);
    expect(await runtime.get("alice", taskId)).toMatchObject({ status: "completed" });
  });

  it("is watched over above the store: a careless store leaks neither by listing nor by key", async () => {
    const store = new FaultyStore();
    const { runtime, start } = await openRuntime(done, { store });
    const { taskId } = await start({ owner: "bob", idempotencyKey: "k" });
    store.list = () => store.inner.list({ limit: 10 });
    store.create = async (record) => (await store.inner.get(taskId)) ?? record;
    expect((await runtime.list("alice")).tasks).toEqual([]);
    expect((await runtime.list("bob")).tasks).toHaveLength(1);
    await expect(start({ owner: "alice", idempotencyKey: "k" })).rejects.toThrow("does not hold this owner's key");
  });
});

describe("listing", () => {
  it("shows each of 55 tasks of one instant exactly once, newest first, while others are created", async () => {
    const { runtime, start } = await openRuntime(done);
    const created = new Set<string>();
    for (let n = 0; n < 55; n += 1) created.add((await start()).taskId);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await runtime.list("alice", cursor === undefined ? { limit: 10 } : { limit: 10, cursor });
      seen.push(...page.tasks.map(({ taskId }) => taskId));
      for (let n = 0; n < 4; n += 1) await start();
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const old = seen.filter((taskId) => created.has(taskId));
    expect(new Set(seen).size).toBe(seen.length);
    expect(new Set(old)).toEqual(created);
  });

  it("carries no payload", async () => {
    const { runtime, start } = await openRuntime(done);
    await start({ arguments: { secret: 1 } });
    await settle();
    const [task] = (await runtime.list("alice")).tasks;
    expect(task).toMatchObject({ status: "completed", outcomeKind: "result" });
    for (const payload of ["arguments", "outcome", "partialOutput", "checkpoint"])
      expect(task).not.toHaveProperty(payload);
  });

  it.each([0, -5, 0.5, 5000])("a page of %s is made one that can be had", async (limit) => {
    const { runtime, start } = await openRuntime(done);
    for (let n = 0; n < 3; n += 1) await start();
    const { tasks } = await runtime.list("alice", { limit });
    expect(tasks).toHaveLength(limit > 3 ? 3 : 1);
  });

  it("refuses a cursor that it did not make", async () => {
    const { runtime } = await openRuntime(done);
    expect(await codeOf(runtime.list("alice", { cursor: "nonsense" }))).toBe("invalid_cursor");
  });
});
