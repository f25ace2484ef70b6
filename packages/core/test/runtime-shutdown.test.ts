import { InProcessRunner, TaskRuntime, type ToolHandler } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, hang, outage } from "./kit/faulty-store.js";
import { done, endless, HeldHandler, newRuntime, openRuntime, stoppable, taskOf } from "./kit/runtime.js";
import { SharedBackend } from "./kit/shared-store.js";

const NOTHING_LEFT = { attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 };

describe("closing", () => {
  it("lets work end within the drain, and takes nothing new meanwhile, but answers reads and waits", async () => {
    const held = new HeldHandler();
    const { runtime, start, get, clock } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const closing = runtime.close({ drainMs: 5000 });
    await clock.advance(1000);
    await expect(start()).rejects.toMatchObject({ code: "not_open" });
    expect(await get(taskId)).toMatchObject({ status: "working" });
    const waiting = runtime.wait("alice", taskId);
    held.end();
    await closing;
    expect(await waiting).toMatchObject({ status: "completed" });
    expect(clock.pending).toBe(0);
  });

  it("ends at the drain's end what does not, says why, and keeps its output", async () => {
    const { runtime, start, get, clock } = await openRuntime((args, context) => {
      taskOf(context).recordOutput(["half"]);
      return stoppable(args, context);
    });
    const { taskId } = await start();
    await settle();
    const closing = runtime.close({ drainMs: 5000 });
    await clock.advance(4999);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(1);
    await closing;
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      outcome: { kind: "threw", reason: "shutdown" },
      statusMessage: expect.stringContaining("shut down"),
      partialOutput: ["half"],
    });
  });

  it("does not wait for people", async () => {
    const { runtime, start, clock } = await openRuntime(async (_args, context) => {
      await taskOf(context).ask({ method: "elicitation/create", params: {} });
      return { kind: "result", result: {} };
    });
    await start();
    await settle();
    const began = clock.now();
    const closing = runtime.close({ drainMs: 60_000 });
    await settle();
    await clock.advance(1);
    await closing;
    expect(clock.now() - began).toBe(1);
  });

  it("is held up by work that ignores everything for its grace and no longer", async () => {
    const { runtime, start, get, clock } = await openRuntime(endless, { cancelGraceMs: 700 });
    const { taskId } = await start();
    await settle();
    let closed = false;
    const closing = runtime.close().then(() => {
      closed = true;
    });
    await clock.advance(699);
    expect(closed).toBe(false);
    await clock.advance(1);
    await closing;
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      statusMessage: expect.stringContaining("still be running"),
    });
  });

  it("waits for work that does not stop for stopMs where its grace is longer, and says that it still runs", async () => {
    const { runtime, start, get, clock } = await openRuntime(
      (args, context) => {
        taskOf(context).recordOutput(["half"]);
        return endless(args, context);
      },
      { cancelGraceMs: 7000 },
    );
    const { taskId } = await start();
    await settle();
    const closing = runtime.close({ stopMs: 300 });
    await clock.advance(299);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(1);
    await closing;
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      outcome: { reason: "shutdown" },
      statusMessage: expect.stringContaining("still be running"),
      partialOutput: ["half"],
    });
    expect(runtime.gauges).toEqual(NOTHING_LEFT);
  });

  it("fails what is queued where nobody else could run it", async () => {
    const { runtime, start, get, clock } = await openRuntime(stoppable, {
      runner: new InProcessRunner({ concurrency: 1 }),
    });
    await start();
    const queued = await start();
    await settle();
    const closing = runtime.close();
    await clock.advance(1000);
    await closing;
    expect(await get(queued.taskId)).toMatchObject({ status: "failed", outcome: { reason: "shutdown" } });
  });

  it("lets a result that is on its way to the store land, and hands that task over to nobody", async () => {
    const store = new FaultyStore();
    const bench = newRuntime(done, { store, tool: { recovery: "retry" } });
    await bench.runtime.open();
    let land = (): void => {};
    store.before = ({ method }) =>
      method === "update"
        ? new Promise<void>((resolve) => {
            land = resolve;
          })
        : undefined;
    const { taskId } = await bench.start();
    await settle();
    const closing = bench.runtime.close();
    await settle();
    land();
    await settle();
    await closing;
    expect(await store.inner.get(taskId)).toMatchObject({ status: "completed" });
  });

  it("puts down a task whose record was on its way to the store", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const bench = newRuntime(held.handler, { store });
    await bench.runtime.open();
    let land = (): void => {};
    store.before = ({ method }) =>
      method === "create"
        ? new Promise<void>((resolve) => {
            land = resolve;
          })
        : undefined;
    const creating = bench.start();
    await settle();
    const closing = bench.runtime.close();
    await settle();
    land();
    const { taskId } = await creating;
    await bench.clock.advance(1000);
    await closing;
    expect(held.contexts).toHaveLength(0);
    expect(await store.inner.get(taskId)).toMatchObject({ attempt: { state: "queued" } });
    expect(bench.runtime.gauges).toEqual(NOTHING_LEFT);
  });

  it("of a shared store: the short end, the endless fail with what they had, the queued are left for others", async () => {
    const clock = new FakeClock();
    const backend = new SharedBackend(clock);
    const told: string[] = [];
    const handler: ToolHandler = async (args, context) => {
      if (args.kind === "short") {
        await new Promise<void>((resolve) => clock.setTimer(resolve, 2000));
        return { kind: "result", result: { was: "short" } };
      }
      taskOf(context).recordOutput(["half"]);
      await context.cancelToken.wait();
      told.push(`after ${clock.now() - began}`);
      throw new Error("stopped");
    };
    const runner = new InProcessRunner({ concurrency: 2 });
    const leaving = newRuntime(handler, { clock, store: backend.handle(), runner });
    await leaving.runtime.open();
    const short = await leaving.start({ arguments: { kind: "short" } });
    const endless = await leaving.start({ arguments: { kind: "endless" } });
    const queued = await Promise.all([1, 2, 3].map(() => leaving.start({ arguments: { kind: "queued" } })));
    await settle();
    const began = clock.now();
    const closing = leaving.runtime.close({ drainMs: 5000 });
    await clock.advance(1000);
    await expect(leaving.start()).rejects.toMatchObject({ code: "not_open" });
    await clock.advance(60_000);
    await closing;
    expect(told).toEqual(["after 5000"]);
    const get = (taskId: string) => backend.memory.get(taskId);
    expect(await get(short.taskId)).toMatchObject({ status: "completed" });
    expect(await get(endless.taskId)).toMatchObject({ status: "failed", outcome: { reason: "shutdown" } });
    expect(await get(endless.taskId)).toMatchObject({ partialOutput: ["half"] });
    for (const { taskId } of queued)
      expect(await get(taskId)).toMatchObject({ status: "working", attempt: { state: "queued", tries: 0 } });
    const next = await openRuntime(done, { clock, store: backend.handle() });
    await settle();
    for (const { taskId } of queued) expect(await next.get(taskId)).toMatchObject({ status: "completed" });
  });

  it("twice at once closes once, and never opened closes as well", async () => {
    const store = new FaultyStore();
    const { runtime } = newRuntime(done, { store });
    await Promise.all([runtime.close(), runtime.close()]);
    await runtime.open();
    await Promise.all([runtime.close(), runtime.close(), runtime.close({ drainMs: 10 })]);
    expect(store.calls.filter(({ method }) => method === "close")).toHaveLength(2);
  });

  it("takes every step though one fails, and then says so; it can be opened again", async () => {
    const store = new FaultyStore();
    const runner = new InProcessRunner();
    let runnerClosed = 0;
    const close = runner.close.bind(runner);
    runner.close = () => {
      runnerClosed += 1;
      close();
      throw new Error("the queue is gone");
    };
    const bench = newRuntime(done, { store, runner });
    await bench.runtime.open();
    await expect(bench.runtime.close()).rejects.toThrow("the queue is gone");
    expect(runnerClosed).toBe(1);
    expect(store.calls.at(-1)).toMatchObject({ method: "close" });
    await bench.runtime.open();
    await bench.start();
    await bench.runtime.close().catch(() => {});
  });
});

describe("opening", () => {
  it("twice at once opens once", async () => {
    const store = new FaultyStore();
    const { runtime } = await openRuntime(done, { store });
    await Promise.all([runtime.open(), runtime.open()]);
    expect(store.calls.filter(({ method }) => method === "open")).toHaveLength(1);
  });

  it("that fails says why, leaves nothing open, and may be tried again", async () => {
    const store = new FaultyStore();
    const { runtime, start, clock } = newRuntime(done, { store });
    store.before = ({ method }) => (method === "open" ? outage() : undefined);
    await expect(runtime.open()).rejects.toThrow("the store is out");
    await expect(start()).rejects.toMatchObject({ code: "not_open" });
    expect(clock.pending).toBe(0);
    store.before = () => {};
    await runtime.open();
    expect(await start()).toMatchObject({ status: "working" });
    await runtime.close();
    expect(clock.pending).toBe(0);
  });

  it("that fails half-way gives up what it had, and can be closed", async () => {
    const store = new FaultyStore();
    const runner = new InProcessRunner();
    runner.open = () => {
      throw new Error("no queue");
    };
    const { runtime } = newRuntime(done, { store, runner });
    const listeners = process.listenerCount("unhandledRejection");
    await expect(runtime.open()).rejects.toThrow("no queue");
    expect(store.calls.map(({ method }) => method)).toEqual(["open", "close"]);
    expect(process.listenerCount("unhandledRejection")).toBe(listeners);
    await runtime.close();
  });

  it("after closing begins anew, once the closing is done", async () => {
    const held = new HeldHandler();
    const bench = newRuntime(held.handler);
    await bench.runtime.open();
    await bench.start();
    await settle();
    const order: string[] = [];
    const closing = bench.runtime.close({ drainMs: 1000 }).then(() => order.push("closed"));
    const opening = bench.runtime.open().then(() => order.push("open"));
    await settle();
    held.end();
    await bench.clock.advance(1000);
    await Promise.all([closing, opening]);
    expect(order).toEqual(["closed", "open"]);
    await bench.start();
    await settle();
    expect(held.contexts).toHaveLength(2);
    held.end();
    await bench.runtime.close({ drainMs: 1000 });
  });

  it.each<[string, ("open" | "close")[], boolean]>([
    ["open, close", ["open", "close"], false],
    ["open, close, open", ["open", "close", "open"], true],
    ["open, close, open, close", ["open", "close", "open", "close"], false],
    ["close, open", ["close", "open"], true],
  ])("%s, all at once, ends where the last call said", async (_what, calls, open) => {
    const bench = newRuntime(done, { store: new FaultyStore() });
    await Promise.all(calls.map((call) => bench.runtime[call]()));
    if (open) expect(await bench.start()).toMatchObject({ status: "working" });
    else await expect(bench.start()).rejects.toMatchObject({ code: "not_open" });
    await settle();
    await bench.runtime.close();
    expect(bench.clock.pending).toBe(0);
  });

  it("a store that never opens does not hold up closing, and opens nothing when it comes round", async () => {
    const store = new FaultyStore();
    let answer = (): void => {};
    store.before = ({ method }) =>
      method === "open"
        ? new Promise<void>((resolve) => {
            answer = resolve;
          })
        : undefined;
    const bench = newRuntime(done, { store, storeTimeoutMs: 1000 });
    const opening = bench.runtime.open();
    opening.catch(() => {});
    await settle();
    const closing = bench.runtime.close();
    await bench.clock.advance(1000);
    await closing;
    answer();
    await expect(opening).rejects.toMatchObject({ code: "not_open" });
    await expect(bench.start()).rejects.toMatchObject({ code: "not_open" });
    expect(bench.clock.pending).toBe(0);
    store.before = () => hang();
  });

  it("leaves no listener and no timer behind, however often it is opened and closed", async () => {
    const clock = new FakeClock();
    const before = process.listenerCount("uncaughtException");
    const runtime = new TaskRuntime({ clock, store: new SharedBackend(clock).handle() });
    for (let round = 0; round < 50; round += 1) {
      await runtime.open();
      expect(process.listenerCount("uncaughtException")).toBeLessThanOrEqual(before + 1);
      await runtime.close();
    }
    expect(process.listenerCount("uncaughtException")).toBe(before);
    expect(clock.pending).toBe(0);
  });
});
