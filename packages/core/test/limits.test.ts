import { DEFAULT_LIMITS, InProcessRunner, type Limits, TaskRuntime } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/fixtures/refusal.js";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { done, endless, HeldHandler, newRuntime, openRuntime, stoppable } from "./kit/runtime.js";

describe("limits that are none", () => {
  it.each<[keyof Limits, unknown]>([
    ["tasksPerOwner", 0],
    ["tasks", -1],
    ["retainedPerOwner", Number.NaN],
    ["pollsPerSecond", 0.5],
    ["queuedTasks", "many"],
  ])("%s: %s is refused", (name, value) => {
    expect(() => new TaskRuntime({ limits: { [name]: value } })).toThrow(new RegExp(`^limits: ${name} must be`));
  });

  it("Infinity switches one off", async () => {
    const { runtime } = await openRuntime(done, { limits: { pollsPerSecond: Number.POSITIVE_INFINITY } });
    for (let i = 0; i < 20_000; i += 1) runtime.polls.spend("alice");
    runtime.polls.check("alice");
    expect(runtime.polls.size).toBe(0);
  });
});

describe("unfinished tasks of one owner", () => {
  it("are limited; the refusal says which limit, changes nothing, and the next may come when one has ended", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { limits: { tasksPerOwner: 2 } });
    const { taskId } = await start();
    await start();
    const refused = await refusalOf(start());
    expect(refused).toMatchObject({ code: "limit_reached", data: { limit: "tasksPerOwner", max: 2 } });
    expect(refused.message).toContain("2 tasks of yours are unfinished");
    expect((await runtime.list("alice")).tasks).toHaveLength(2);
    expect(held.contexts).toHaveLength(2);
    held.end();
    await runtime.wait("alice", taskId);
    await start();
  });

  it("leave the other owners theirs", async () => {
    const { start } = await openRuntime(endless, { limits: { tasksPerOwner: 1 } });
    await start();
    await refusalOf(start());
    await start({ owner: "bob" });
  });

  it("are counted before they are there: of a hundred calls at once no more come in than may", async () => {
    const { runtime, start } = await openRuntime(endless, { limits: { tasksPerOwner: 10 } });
    const calls = await Promise.allSettled(Array.from({ length: 100 }, () => start()));
    expect(calls.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    expect((await runtime.list("alice", { limit: 1000 })).tasks).toHaveLength(10);
  });

  it("count a cancelled task until its work has really stopped", async () => {
    const { runtime, clock, start } = await openRuntime(endless, { limits: { tasksPerOwner: 1 } });
    const { taskId } = await start();
    const cancelled = runtime.cancel("alice", taskId);
    await clock.advance(20_000);
    expect((await cancelled)?.task.status).toBe("cancelled");
    expect((await refusalOf(start())).data?.limit).toBe("tasksPerOwner");
  });

  it("do not count one whose work has stopped, failed, or never began", async () => {
    const { runtime, start } = await openRuntime(stoppable, { limits: { tasksPerOwner: 1 } });
    for (let i = 0; i < 3; i += 1) await runtime.cancel("alice", (await start()).taskId);
    const failing = await openRuntime(
      () => {
        throw new Error("no");
      },
      { limits: { tasksPerOwner: 1 } },
    );
    for (let i = 0; i < 3; i += 1) await failing.runtime.wait("alice", (await failing.start()).taskId);
  });

  it("do not count a call that became no task: the store failed, or it was a retry", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start } = await openRuntime(held.handler, { store, limits: { tasksPerOwner: 2 } });
    store.before = outage;
    for (let i = 0; i < 3; i += 1) await expect(start()).rejects.toThrow("the store is out");
    store.before = () => {};
    for (let i = 0; i < 3; i += 1) await start({ idempotencyKey: "k" });
    await start();
    await refusalOf(start());
  });
});

describe("a retry at a limit", () => {
  it("is answered the task that it made", async () => {
    const { start } = await openRuntime(endless, { limits: { tasksPerOwner: 1 } });
    const first = await start({ idempotencyKey: "k" });
    expect((await start({ idempotencyKey: "k" })).taskId).toBe(first.taskId);
    expect((await refusalOf(start({ idempotencyKey: "k", arguments: { other: true } }))).code).toBe(
      "idempotency_conflict",
    );
  });

  it("that comes while the first is being created waits for it", async () => {
    const store = new FaultyStore();
    const { start } = await openRuntime(endless, { store, limits: { tasksPerOwner: 1 } });
    let create = (): void => {};
    store.before = ({ method }) =>
      method === "create" ? new Promise<void>((resolve) => (create = resolve)) : undefined;
    const [first, retry] = [start({ idempotencyKey: "k" }), start({ idempotencyKey: "k" })];
    create();
    expect((await retry).taskId).toBe((await first).taskId);
  });

  it("of a call that was refused finds its key free", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { limits: { tasksPerOwner: 1 } });
    const { taskId } = await start();
    await refusalOf(start({ idempotencyKey: "k" }));
    held.end();
    await runtime.wait("alice", taskId);
    const retried = await start({ idempotencyKey: "k", arguments: { other: true } });
    expect(retried.idempotencyKey).toBe("k");
  });
});

describe("unfinished tasks of all owners", () => {
  it("are limited together", async () => {
    const { start } = await openRuntime(endless, { limits: { tasks: 2 } });
    await start({ owner: "alice" });
    await start({ owner: "bob" });
    expect(await refusalOf(start({ owner: "carol" }))).toMatchObject({ data: { limit: "tasks", max: 2 } });
  });
});

describe("tasks that wait for their turn", () => {
  it("are limited, however many come at once; one that starts at once never waits", async () => {
    const held = new HeldHandler();
    const runner = new InProcessRunner({ concurrency: 2 });
    const { runtime, start } = await openRuntime(held.handler, { runner, limits: { queuedTasks: 3 } });
    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => start()));
    const created = calls.flatMap((settled) => (settled.status === "fulfilled" ? [settled.value] : []));
    expect(created).toHaveLength(5);
    expect(await refusalOf(start())).toMatchObject({ data: { limit: "queuedTasks", max: 3 } });
    await runtime.cancel("alice", created.at(-1)?.taskId ?? "");
    await start();
    expect(runner.queued).toBe(3);
  });

  it("may be none at all", async () => {
    const runner = new InProcessRunner({ concurrency: 1 });
    const { start } = await openRuntime(endless, { runner, limits: { queuedTasks: 0 } });
    await start();
    expect((await refusalOf(start())).data?.limit).toBe("queuedTasks");
  });
});

describe("a fair share", () => {
  it("an owner who floods the queue holds up nobody: the next turn is another's", async () => {
    const order: unknown[] = [];
    const held = new HeldHandler();
    const runner = new InProcessRunner({ concurrency: 1 });
    const { runtime, start } = await openRuntime(
      (args, context) => {
        order.push(context.request.owner);
        return held.handler(args, context);
      },
      { runner, limits: { tasksPerOwner: 50 } },
    );
    const call = (owner: string) => start({ owner, request: { owner } });
    const flood = await Promise.allSettled(Array.from({ length: 200 }, () => call("mallory")));
    expect(flood.filter(({ status }) => status === "rejected")).toHaveLength(150);
    const others = [await call("alice"), await call("bob")];
    for (const { owner, taskId } of others) {
      const ended = runtime.wait(owner, taskId);
      for (let turns = 0; turns < 4; turns += 1) {
        held.end();
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await ended)?.status).toBe("completed");
    }
    expect(order.slice(0, 5).filter((owner) => owner !== "mallory")).toEqual(["alice", "bob"]);
  });
});

describe("retained tasks of one owner", () => {
  it("are limited, finished ones too, until their ttl has passed", async () => {
    const { runtime, clock, start } = await openRuntime(done, { limits: { retainedPerOwner: 2 } });
    for (let i = 0; i < 2; i += 1) await runtime.wait("alice", (await start({ ttlMs: 60_000 })).taskId);
    const refused = await refusalOf(start());
    expect(refused).toMatchObject({ data: { limit: "retainedPerOwner", max: 2 } });
    expect(refused.message).toContain("shorter ttl");
    await start({ owner: "bob" });
    await clock.advance(61_000);
    await start();
  });

  it("count one once, while it runs and after", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { limits: { retainedPerOwner: 2 } });
    const { taskId } = await start();
    held.end();
    await runtime.wait("alice", taskId);
    await start();
    expect((await refusalOf(start())).data?.limit).toBe("retainedPerOwner");
  });

  it("do not count what was never kept", async () => {
    const { runtime, start } = await openRuntime(done, { limits: { retainedPerOwner: 1 } });
    for (let i = 0; i < 3; i += 1) {
      const { taskId } = await start({ ttlMs: 0 });
      await runtime.wait("alice", taskId);
    }
  });
});

describe("requests that wait", () => {
  it("are limited per owner; what has ended is answered all the same, and none is left behind", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { limits: { waitersPerOwner: 2 } });
    const ended = await start();
    held.end();
    await runtime.wait("alice", ended.taskId);
    const { taskId } = await start();
    const controllers = [new AbortController(), new AbortController()];
    const waits = controllers.map(({ signal }) => runtime.wait("alice", taskId, { signal }));
    expect(await refusalOf(runtime.wait("alice", taskId))).toMatchObject({
      data: { limit: "waitersPerOwner", max: 2 },
    });
    expect((await runtime.wait("alice", ended.taskId))?.status).toBe("completed");
    expect(await runtime.wait("alice", "tsk_invented")).toBeNull();
    for (const controller of controllers) controller.abort();
    await Promise.allSettled(waits);
    const again = [runtime.wait("alice", taskId), runtime.wait("alice", taskId)];
    await refusalOf(runtime.wait("alice", taskId));
    held.end();
    await Promise.all(again);
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("that stop before they have looked count for nothing afterwards", async () => {
    const { runtime, start } = await openRuntime(endless, { limits: { waitersPerOwner: 1 } });
    const { taskId } = await start();
    for (let i = 0; i < 5; i += 1) {
      const controller = new AbortController();
      const wait = runtime.wait("alice", taskId, { signal: controller.signal });
      controller.abort();
      await expect(wait).rejects.toThrow();
    }
    await new Promise((resolve) => setImmediate(resolve));
    const controller = new AbortController();
    const wait = runtime.wait("alice", taskId, { signal: controller.signal }).catch(() => "aborted");
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await wait).toBe("aborted");
  });

  it("leave other owners their waiting, and cancelling is none of it", async () => {
    const { runtime, start } = await openRuntime(stoppable, { limits: { waitersPerOwner: 0 } });
    const { taskId } = await start();
    await refusalOf(runtime.wait("alice", taskId));
    expect((await runtime.cancel("alice", taskId))?.cancelled).toBe(true);
  });
});

it("the defaults are above what an agent needs", () => {
  expect(DEFAULT_LIMITS.tasksPerOwner).toBeGreaterThan(1000);
  expect(DEFAULT_LIMITS.pollsPerSecond).toBeGreaterThanOrEqual(1000);
});

it("a runtime that was closed counts nothing of before", async () => {
  const bench = newRuntime(endless, { limits: { tasksPerOwner: 1 } });
  await bench.runtime.open();
  await bench.start();
  const closed = bench.runtime.close();
  await bench.clock.advance(60_000);
  await closed;
  await bench.runtime.open();
  await bench.start();
  const again = bench.runtime.close();
  await bench.clock.advance(60_000);
  await again;
});
