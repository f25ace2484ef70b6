import { getEventListeners } from "node:events";
import type { TaskNews, TaskRecord, ToolContext } from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { done, endless, HeldHandler, newRuntime, openRuntime, taskOf } from "./kit/runtime.js";

describe("waiting for a task", () => {
  it("fifty who wait for one all get the same record at once, and nothing is left behind", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start();
    const waiting = Promise.all(Array.from({ length: 50 }, () => runtime.wait("alice", taskId)));
    await settle();
    expect(runtime.gauges.watchedTasks).toBe(1);
    held.end();
    const records = await waiting;
    expect(new Set(records).size).toBe(1);
    expect(records[0]).toMatchObject({ status: "completed" });
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("asks the store once and then is woken: it does not poll", async () => {
    const held = new HeldHandler();
    const store = new FaultyStore();
    const { runtime, start, clock } = await openRuntime(held.handler, { store, pollIntervalMs: 10 ** 9 });
    const { taskId } = await start();
    await settle();
    store.calls.length = 0;
    const waiting = runtime.wait("alice", taskId);
    await clock.advance(2000);
    expect(store.calls.filter(({ method }) => method === "get")).toHaveLength(1);
    held.end();
    expect(await waiting).toMatchObject({ status: "completed" });
  });

  it("an end that lands while the first read is under way is not missed", async () => {
    const held = new HeldHandler();
    const store = new FaultyStore();
    const { runtime, start } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    let answer = (): void => {};
    store.afterRead = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    const waiting = runtime.wait("alice", taskId);
    await settle();
    held.end();
    await settle();
    answer();
    expect(await waiting).toMatchObject({ status: "completed" });
  });

  it("of a finished task answers at once; of one that is not there, null", async () => {
    const { runtime, start } = await openRuntime(done);
    const { taskId } = await start();
    await settle();
    expect(await runtime.wait("alice", taskId)).toMatchObject({ status: "completed" });
    expect(await runtime.wait("alice", "tsk_invented")).toBeNull();
    expect(await runtime.wait("bob", taskId)).toBeNull();
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("goes until the task is as asked, or has ended and never will be", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start();
    const until = (task: TaskRecord): boolean => task.status === "input_required";
    const asked = runtime.wait("alice", taskId, { until });
    await settle();
    await taskOf(held.contexts[0]).requireInput("Which one?");
    expect(await asked).toMatchObject({ status: "input_required", statusMessage: "Which one?" });
    await taskOf(held.contexts[0]).setWorking();
    const never = runtime.wait("alice", taskId, { until });
    await settle();
    held.end();
    expect(await never).toMatchObject({ status: "completed" });
  });

  it("is given up by its signal, which touches neither the task nor the others who wait", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start();
    const controller = new AbortController();
    const gone = runtime.wait("alice", taskId, { signal: controller.signal });
    const staying = runtime.wait("alice", taskId);
    await settle();
    controller.abort(new Error("went away"));
    await expect(gone).rejects.toThrow("went away");
    expect(held.contexts[0]?.signal.aborted).toBe(false);
    expect(held.contexts[0]?.cancelToken.isCancelled()).toBe(false);
    held.end();
    expect(await staying).toMatchObject({ status: "completed" });
  });

  it("with a signal that is aborted already rejects and leaves nothing behind", async () => {
    const { runtime, start } = await openRuntime(endless, { cancelGraceMs: 0 });
    const { taskId } = await start();
    await expect(runtime.wait("alice", taskId, { signal: AbortSignal.abort("no") })).rejects.toBe("no");
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("ten thousand waits on one signal leave no listener on it", async () => {
    const { runtime, start } = await openRuntime(done);
    const { taskId } = await start();
    await settle();
    const { signal } = new AbortController();
    for (let n = 0; n < 10_000; n += 1) await runtime.wait("alice", taskId, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("rejects when the store cannot be read, or when `until` throws, and lets everybody else be", async () => {
    const held = new HeldHandler();
    const store = new FaultyStore();
    const { runtime, start } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    store.before = ({ method }) => (method === "get" ? outage() : undefined);
    await expect(runtime.wait("alice", taskId)).rejects.toThrow("the store is out");
    store.before = () => {};
    let looks = 0;
    const throws = runtime.wait("alice", taskId, {
      until: () => {
        looks += 1;
        if (looks > 1) throw new Error("my mistake");
        return false;
      },
    });
    throws.catch(() => {});
    const staying = runtime.wait("alice", taskId);
    await settle();
    await taskOf(held.contexts[0]).setWorking("busy");
    await expect(throws).rejects.toThrow("my mistake");
    held.end();
    expect(await staying).toMatchObject({ status: "completed" });
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("ends with a clear error when the runtime closes and the task goes on elsewhere", async () => {
    const bench = newRuntime(endless, {
      store: new FaultyStore(),
      cancelGraceMs: 0,
      tool: { recovery: "retry" },
    });
    await bench.runtime.open();
    const { taskId } = await bench.start();
    const waiting = bench.runtime.wait("alice", taskId);
    waiting.catch(() => {});
    await settle();
    const closed = bench.runtime.close();
    await bench.clock.advance(1000);
    await closed;
    await expect(waiting).rejects.toMatchObject({ code: "not_open" });
    await expect(bench.runtime.wait("alice", taskId)).rejects.toMatchObject({ code: "not_open" });
  });
});

describe("watching a task", () => {
  it("tells every change once and in order, progress at once, and the end last", async () => {
    const held = new HeldHandler();
    const { runtime, start, clock } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const told: string[] = [];
    runtime.subscribe(taskId, (news) => {
      if (news.type === "changed") told.push(`${news.task.version} ${news.task.status}`);
      else if (news.type === "progress") told.push(`progress ${news.progress.current}`);
      else told.push(news.type);
    });
    const task = taskOf(held.contexts[0]);
    await task.requireInput("Which one?");
    await task.setWorking();
    task.sendProgress(1);
    await clock.advance(1000);
    held.end();
    await settle();
    expect(told).toEqual(["2 input_required", "3 working", "progress 1", "4 working", "5 completed"]);
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("what is logged is told to whoever watches, and the tool whether one of them hears it", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const { log } = held.contexts[0] as ToolContext;
    expect(log("info", "nobody watches")).toBe(false);
    const told: TaskNews[] = [];
    const stop = runtime.subscribe(taskId, (news) => void told.push(news));
    void runtime.wait("alice", taskId);
    await runtime.follow("alice", taskId, (news) => void told.push(news));
    expect(log("info", "nobody hears")).toBe(false);
    stop();
    runtime.subscribe(taskId, () => {
      throw new Error("deaf");
    });
    runtime.subscribe(taskId, (news) => news.type === "log");
    expect(log("error", { depth: 1 }, "spade")).toBe(true);
    held.end();
    await settle();
    expect(log("info", "late")).toBe(false);
    const logged = told.filter(({ type }) => type === "log");
    expect(logged).toEqual([{ type: "log", taskId, message: { level: "info", data: "nobody hears" } }]);
  });

  it("whoever begins when the task has just ended hears of the end, and is let go", async () => {
    const { runtime, start } = await openRuntime(done);
    const { taskId } = await start();
    await settle();
    const told: unknown[] = [];
    runtime.subscribe(taskId, (news) => told.push(news));
    runtime.subscribe("tsk_invented", (news) => told.push(news));
    await settle();
    expect(told).toMatchObject([{ type: "changed", task: { status: "completed" } }, { type: "gone" }]);
    expect(runtime.gauges.watchedTasks).toBe(0);
  });

  it("a watcher that throws harms neither the task nor the other watchers", async () => {
    const held = new HeldHandler();
    const { runtime, start, get, log } = await openRuntime(held.handler);
    const { taskId } = await start();
    const told: string[] = [];
    runtime.subscribe(taskId, () => {
      throw new Error("my mistake");
    });
    runtime.subscribe(taskId, ({ type }) => told.push(type));
    await settle();
    held.end();
    await settle();
    expect(told).toEqual(["changed"]);
    expect(await get(taskId)).toMatchObject({ status: "completed" });
    expect(log.errors()).toHaveLength(1);
  });

  it("tells nothing more once it was stopped", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler);
    const { taskId } = await start();
    const told: string[] = [];
    runtime.subscribe(taskId, ({ type }) => told.push(type))();
    await settle();
    held.end();
    await settle();
    expect(told).toEqual([]);
    expect(runtime.gauges.watchedTasks).toBe(0);
  });
});
