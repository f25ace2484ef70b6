import { InProcessRunner } from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, hang, outage } from "./kit/faulty-store.js";
import { text } from "./kit/records.js";
import { done, endless, HeldHandler, openRuntime, stoppable, taskOf } from "./kit/runtime.js";

const GRACE = { cancelGraceMs: 1000 };

describe("cancelling work that runs", () => {
  it("goes in its order: signal, interrupts, grace, escalation, a second grace, and then the answer", async () => {
    const steps: string[] = [];
    const { runtime, start, clock, get } = await openRuntime((_args, context) => {
      context.signal.addEventListener("abort", () => steps.push(`signal ${clock.now() - began}`));
      const say = (what: string) => () => steps.push(`${what} ${clock.now() - began}`);
      taskOf(context).registerInterrupt(say("stop 1"), { escalate: say("escalate 1") });
      taskOf(context).registerInterrupt(say("stop 2"), { escalate: say("escalate 2") });
      return new Promise(() => {});
    }, GRACE);
    const began = clock.now();
    const { taskId } = await start();
    await settle();
    const cancelling = runtime.cancel("alice", taskId).then((cancelled) => {
      steps.push(`answer ${clock.now() - began}`);
      return cancelled;
    });
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "working", cancellation: { requestedAt: clock.now() } });
    await clock.advance(5000);
    expect(steps).toEqual(["signal 0", "stop 1 0", "stop 2 0", "escalate 1 1000", "escalate 2 1000", "answer 2000"]);
    expect(await cancelling).toMatchObject({
      cancelled: true,
      task: { status: "cancelled", cancellation: { how: "still_running" } },
    });
    expect(runtime.gauges).toMatchObject({ running: 1, stillRunningAfterEnd: 1 });
  });

  it("of a tool that stops answers at once and says so", async () => {
    const { runtime, start } = await openRuntime(stoppable, GRACE);
    const { taskId } = await start();
    await settle();
    expect(await runtime.cancel("alice", taskId)).toMatchObject({
      cancelled: true,
      task: {
        status: "cancelled",
        cancellation: { how: "stopped" },
        statusMessage: expect.stringContaining("stopped"),
      },
    });
    expect(runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
  });

  it("waits one grace only where nothing escalates", async () => {
    const { runtime, start, clock } = await openRuntime(endless, { ...GRACE, tool: { cancelGraceMs: 300 } });
    const { taskId } = await start();
    await settle();
    let answered = false;
    const cancelling = runtime.cancel("alice", taskId).then(() => {
      answered = true;
    });
    await clock.advance(299);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(answered).toBe(true);
    await cancelling;
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no kernel");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no kernel"))],
  ])(
    "an interrupt that %s is logged with the task's id, kept in the record, and holds nothing up",
    async (_how, stop) => {
      let second = 0;
      const { runtime, start, clock, log } = await openRuntime((_args, context) => {
        taskOf(context).registerInterrupt(stop);
        taskOf(context).registerInterrupt(() => {
          second += 1;
        });
        return new Promise(() => {});
      }, GRACE);
      const { taskId } = await start();
      await settle();
      const cancelling = runtime.cancel("alice", taskId);
      await clock.advance(1000);
      expect(await cancelling).toMatchObject({
        task: {
          status: "cancelled",
          cancellation: { how: "still_running", error: expect.stringContaining("no kernel") },
        },
      });
      expect(second).toBe(1);
      expect(log.errors()).toEqual([expect.objectContaining({ fields: expect.objectContaining({ taskId }) })]);
    },
  );

  it("an interrupt that never ends is waited for no longer than the grace", async () => {
    const { runtime, start, clock } = await openRuntime((_args, context) => {
      taskOf(context).registerInterrupt(() => new Promise(() => {}));
      return new Promise(() => {});
    }, GRACE);
    const { taskId } = await start();
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(1000);
    expect(await cancelling).toMatchObject({ cancelled: true });
  });

  it("an interrupt that is registered late is called at once", async () => {
    const called: string[] = [];
    const held = new HeldHandler();
    const { runtime, start, clock } = await openRuntime(held.handler, GRACE);
    const { taskId } = await start();
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    await settle();
    expect(taskOf(held.contexts[0]).registerInterrupt(() => called.push("stop"))).toBe(true);
    expect(called).toEqual(["stop"]);
    await clock.advance(1000);
    await cancelling;
    const late = { escalate: (): unknown => called.push("escalate") };
    expect(taskOf(held.contexts[0]).registerInterrupt(() => called.push("later"), late)).toBe(true);
    expect(called).toEqual(["stop", "later", "escalate"]);
  });

  it("twice at once stops once, and both get the same answer", async () => {
    let stops = 0;
    const { runtime, start } = await openRuntime((args, context) => {
      taskOf(context).registerInterrupt(() => {
        stops += 1;
      });
      return stoppable(args, context);
    }, GRACE);
    const { taskId } = await start();
    await settle();
    const [one, two] = await Promise.all([runtime.cancel("alice", taskId), runtime.cancel("alice", taskId)]);
    expect(one).toEqual(two);
    expect(stops).toBe(1);
  });

  it.each<[string, (error: unknown) => ReturnType<typeof done>]>([
    [
      "rethrows",
      (error) => {
        throw error;
      },
    ],
    [
      "wraps",
      (error) => {
        throw new Error("fetch failed", { cause: error });
      },
    ],
    ["makes an error result of", () => ({ kind: "error_result", result: text("aborted") })],
  ])("a tool that %s its abort ends cancelled, never failed, partial output kept", async (_what, end) => {
    const { runtime, start } = await openRuntime(async (args, context) => {
      taskOf(context).recordOutput(["half"]);
      return Promise.resolve(stoppable(args, context)).catch(end);
    });
    const { taskId } = await start();
    const seen = new Set<string>();
    runtime.subscribe(taskId, (news) => seen.add(news.type === "changed" ? news.task.status : news.type));
    await settle();
    expect(await runtime.cancel("alice", taskId)).toMatchObject({
      cancelled: true,
      task: { status: "cancelled", partialOutput: ["half"] },
    });
    expect([...seen]).toEqual(["working", "cancelled"]);
  });

  it("a complete result that lands while it is being stopped wins over the partial one", async () => {
    const { runtime, start } = await openRuntime(async (_args, context) => {
      taskOf(context).recordOutput(["half"]);
      await context.cancelToken.wait();
      return { kind: "result", result: text("whole") };
    });
    const { taskId } = await start();
    await settle();
    const answer = await runtime.cancel("alice", taskId);
    expect(answer).toMatchObject({
      cancelled: false,
      task: { status: "completed", outcome: { result: text("whole") } },
    });
    expect(answer?.task).not.toHaveProperty("partialOutput");
  });

  it("what lands after the grace is discarded, and its place is not given away before", async () => {
    const held = new HeldHandler();
    const runner = new InProcessRunner({ concurrency: 1 });
    const { runtime, start, clock, get } = await openRuntime(held.handler, { ...GRACE, runner });
    const { taskId } = await start();
    const next = await start();
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(1000);
    const before = (await cancelling)?.task;
    expect(before).toMatchObject({ status: "cancelled", cancellation: { how: "still_running" } });
    expect(held.contexts).toHaveLength(1);
    taskOf(held.contexts[0]).recordOutput(["late"]);
    held.end();
    await clock.advance(1000);
    expect(await get(taskId)).toEqual(before);
    expect(held.contexts.map(({ task }) => task?.taskId)).toEqual([taskId, next.taskId]);
    held.end();
    await settle();
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });
});

describe("cancelling what does not run", () => {
  it.each(["completed", "failed", "cancelled"] as const)("a task that is %s is answered as it is", async (status) => {
    let stops = 0;
    const { runtime, start } = await openRuntime(async (args, context) => {
      taskOf(context).registerInterrupt(() => {
        stops += 1;
      });
      if (status === "completed") return done(args, context);
      if (status === "failed") throw new Error("boom");
      return stoppable(args, context);
    });
    const { taskId } = await start();
    await settle();
    if (status === "cancelled") await runtime.cancel("alice", taskId);
    const before = await runtime.get("alice", taskId);
    const stopsBefore = stops;
    for (let tries = 0; tries < 2; tries += 1) {
      expect(await runtime.cancel("alice", taskId)).toEqual({ task: before, cancelled: false });
    }
    expect(stops).toBe(stopsBefore);
    expect(await runtime.get("alice", taskId)).toEqual(before);
  });

  it("a queued task ends at once, never runs, wakes who waits, and leaves the one behind it alone", async () => {
    const held = new HeldHandler();
    const { runtime, start } = await openRuntime(held.handler, { runner: new InProcessRunner({ concurrency: 1 }) });
    const first = await start();
    const second = await start();
    const third = await start();
    await settle();
    const waiting = runtime.wait("alice", second.taskId);
    expect(await runtime.cancel("alice", second.taskId)).toMatchObject({
      cancelled: true,
      task: { status: "cancelled", cancellation: { how: "not_started" } },
    });
    expect(await waiting).toMatchObject({ status: "cancelled" });
    expect(await waiting).not.toHaveProperty("partialOutput");
    held.end();
    await settle();
    expect(held.contexts.map(({ task }) => task?.taskId)).toEqual([first.taskId, third.taskId]);
    held.end();
    await settle();
    expect(runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
  });

  it("five thousand queued tasks are cancelled at once and shut down, without recursion", async () => {
    const { runtime, start, clock } = await openRuntime(endless, {
      runner: new InProcessRunner({ concurrency: 1 }),
      cancelGraceMs: 0,
    });
    const ids: string[] = [];
    for (let n = 0; n < 5000; n += 1) ids.push((await start()).taskId);
    const cancelled = await Promise.all(ids.slice(1).map((taskId) => runtime.cancel("alice", taskId)));
    expect(cancelled.every((answer) => answer?.task.status === "cancelled")).toBe(true);
    expect(runtime.gauges.attempts).toBe(1);
    const closing = Promise.all([runtime.close(), runtime.close()]);
    await clock.advance(1000);
    await closing;
    expect(runtime.gauges.attempts).toBe(0);
  });

  it("a task that waits for a person ends at once, its questions are withdrawn, and late answers are ignored", async () => {
    let told: unknown;
    const { runtime, start, get } = await openRuntime(async (_args, context) => {
      try {
        await taskOf(context).ask({ method: "elicitation/create", params: {} });
      } catch (error) {
        told = error;
        throw error;
      }
      return { kind: "result", result: {} };
    });
    const { taskId } = await start();
    await settle();
    const key = (await get(taskId))?.questions[0]?.key ?? "";
    const cancelling = runtime.cancel("alice", taskId);
    await settle();
    expect(told).toMatchObject({ name: "QuestionWithdrawnError", reason: "task_ended" });
    expect(await runtime.answer("alice", taskId, key, { action: "accept" })).toBe("ignored");
    expect(await cancelling).toMatchObject({ cancelled: true, task: { cancellation: { how: "stopped" } } });
    const [asked] = (await get(taskId))?.questions ?? [];
    expect(asked).toMatchObject({ withdrawnAt: expect.any(Number) });
    expect(asked).not.toHaveProperty("answer");
  });

  it("an answer that comes while the work is being stopped is ignored", async () => {
    const { runtime, start, get, clock } = await openRuntime(async (_args, context) => {
      taskOf(context)
        .ask({ method: "elicitation/create", params: {} })
        .catch(() => {});
      return new Promise(() => {});
    });
    const { taskId } = await start();
    await settle();
    const key = (await get(taskId))?.questions[0]?.key ?? "";
    const cancelling = runtime.cancel("alice", taskId);
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "input_required", cancellation: {} });
    expect(await runtime.answer("alice", taskId, key, { action: "accept" })).toBe("ignored");
    await clock.advance(5000);
    expect(await cancelling).toMatchObject({ cancelled: true });
  });
});

describe("cancelling on a store that is out", () => {
  it("is answered within its bound though the store hangs, and lands when it is back", async () => {
    const store = new FaultyStore();
    const { runtime, start, clock, get } = await openRuntime(stoppable, { store, ...GRACE, storeTimeoutMs: 2000 });
    const { taskId } = await start();
    await settle();
    store.before = ({ method }) => (method === "update" ? hang() : undefined);
    const cancelling = runtime.cancel("alice", taskId);
    cancelling.catch(() => {});
    await clock.advance(4000);
    await expect(cancelling).rejects.toThrow("in the background");
    store.before = () => {};
    await clock.advance(10_000);
    expect(await get(taskId)).toMatchObject({ status: "cancelled", cancellation: { how: "stopped" } });
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("stops the work all the same when the wish cannot be noted", async () => {
    const store = new FaultyStore();
    const { runtime, start, clock, log } = await openRuntime(stoppable, { store, ...GRACE });
    const { taskId } = await start();
    await settle();
    let failures = 0;
    store.before = ({ method }) => {
      if (method !== "update" || failures > 0) return;
      failures += 1;
      outage();
    };
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(1000);
    expect(await cancelling).toMatchObject({ cancelled: true, task: { cancellation: { how: "stopped" } } });
    expect(log.errors()).not.toEqual([]);
  });
});
