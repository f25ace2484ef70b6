import { type JsonValue, recordOutput } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { text } from "./kit/records.js";
import { type done, HeldHandler, openRuntime, stoppable, taskOf } from "./kit/runtime.js";

/** Holds back writes of progress while the work runs, until what it answers is called: then they fail, and later ones do not. */
function failReports(store: FaultyStore): () => void {
  let fail = (): void => {};
  const failing = new Promise<never>((_, reject) => {
    fail = () => reject(new Error("the store is out"));
  });
  store.before = ({ changes }) =>
    changes?.progress !== undefined && changes.outcome === undefined ? failing : undefined;
  return () => {
    store.before = () => {};
    fail();
  };
}

const LINES = Array.from({ length: 500 }, (_, n) => `line ${n}`);

describe("partial output", () => {
  it("can be read while the task runs, and each recording replaces the one before", async () => {
    const held = new HeldHandler();
    const { start, get, clock } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const task = taskOf(held.contexts[0]);
    expect(task.recordOutput(["a"])).toBe(true);
    await settle();
    expect(await get(taskId)).toMatchObject({ partialOutput: ["a"] });
    task.recordOutput(["a", "b"]);
    task.recordOutput(["a", "b", "c"]);
    await clock.advance(100);
    expect(await get(taskId)).toMatchObject({ partialOutput: ["a", "b", "c"] });
    task.recordOutput([]);
    await clock.advance(1000);
    expect(await get(taskId)).not.toHaveProperty("partialOutput");
    held.end();
  });

  it.each(["a text", null, undefined, { text: "a" }, new Uint8Array(1)])(
    "%j is no list: the tool hears it at once, and its task ends",
    async (outputs) => {
      const { start, get } = await openRuntime(async (_args, ctx) => {
        taskOf(ctx).recordOutput(outputs as never);
        return { kind: "result", result: { content: [] } };
      });
      const { taskId } = await start();
      await settle();
      expect(await get(taskId)).toMatchObject({
        status: "failed",
        outcome: { message: expect.stringContaining("recordOutput takes a list of all outputs so far") },
      });
    },
  );

  it("what the tool does to its list afterwards does not matter", async () => {
    const held = new HeldHandler();
    const { start, get, runtime } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const list: JsonValue[] = ["a"];
    taskOf(held.contexts[0]).recordOutput(list);
    await settle();
    list.push("b");
    taskOf(held.contexts[0]).recordOutput(list);
    list.length = 0;
    const cancelling = runtime.cancel("alice", taskId);
    await settle();
    expect(await get(taskId)).toMatchObject({ partialOutput: ["a"] });
    held.end();
    expect((await cancelling)?.task).toMatchObject({ status: "completed" });
  });

  it.each([
    ["cancelled", "cancelled"],
    ["throws", "failed"],
    ["raises a protocol error", "failed"],
    ["runs too long", "failed"],
    ["is shut down", "failed"],
  ])("all 500 lines are kept when the task is/its tool %s", async (how, status) => {
    const { runtime, start, get, clock } = await openRuntime(
      async (args, context) => {
        for (let n = 1; n <= LINES.length; n += 1) taskOf(context).recordOutput(LINES.slice(0, n));
        if (how === "throws") throw new Error("boom");
        if (how === "raises a protocol error") return { kind: "protocol_error", error: { code: 1, message: "no" } };
        return stoppable(args, context);
      },
      { tool: how === "runs too long" ? { maxRunMs: 1000 } : {} },
    );
    const { taskId } = await start();
    await settle();
    if (how === "cancelled") await runtime.cancel("alice", taskId);
    if (how === "runs too long") await clock.advance(1000);
    if (how === "is shut down") await runtime.close();
    expect(await get(taskId)).toMatchObject({ status, partialOutput: LINES });
  });

  it("a task that produced nothing keeps no output at all, not an empty list", async () => {
    const { runtime, start } = await openRuntime((args, context) => {
      taskOf(context).recordOutput([]);
      return stoppable(args, context);
    });
    const { taskId } = await start();
    await settle();
    expect((await runtime.cancel("alice", taskId))?.task).not.toHaveProperty("partialOutput");
  });

  it("beyond its limit loses its middle, and says so", async () => {
    const held = new HeldHandler();
    const { start, get } = await openRuntime(held.handler, { maxOutputBytes: 1000 });
    const { taskId } = await start();
    await settle();
    taskOf(held.contexts[0]).recordOutput(LINES);
    await settle();
    const kept = (await get(taskId))?.partialOutput ?? [];
    expect(kept[0]).toBe("line 0");
    expect(kept.at(-1)).toBe("line 499");
    expect(JSON.stringify(kept)).toContain("dropped here");
    held.end();
  });

  it("20,000 recordings of a list that grows to 5 MB cost a bounded number of writes and bytes", async () => {
    const clock = new FakeClock();
    const store = new FaultyStore(clock);
    const line = "x".repeat(250);
    const { runtime, start } = await openRuntime(
      async (_args, context) => {
        const list: string[] = [];
        for (let n = 0; n < 20_000; n += 1) {
          list.push(line);
          taskOf(context).recordOutput(list);
          // Two seconds of work.
          if (n % 1000 === 999) await clock.advance(100);
        }
        throw new Error("at the end");
      },
      { store, clock },
    );
    const { taskId } = await start();
    expect(await runtime.wait("alice", taskId)).toMatchObject({ status: "failed" });
    const outputs = store.calls.flatMap(({ changes }) =>
      changes?.partialOutput === undefined ? [] : [changes.partialOutput],
    );
    const bytes = outputs.reduce((sum, list) => sum + Buffer.byteLength(JSON.stringify(list)), 0);
    expect(outputs.length).toBeLessThanOrEqual(22);
    expect(outputs.length).toBeGreaterThan(2);
    expect(bytes).toBeLessThan(3 * 5_000_000);
  }, 20_000);

  it("a report that could not be written is written when the store is back, though the tool says no more", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start, get, clock, log } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    store.before = ({ method }) => (method === "update" ? outage() : undefined);
    taskOf(held.contexts[0]).recordOutput(["kept"]);
    taskOf(held.contexts[0]).sendProgress(3, { message: "third" });
    await clock.advance(5000);
    const warnings = log.lines.filter(({ message }) => message.includes("report"));
    expect(warnings.length).toBeLessThanOrEqual(6);
    store.before = () => {};
    await clock.advance(2000);
    expect(await get(taskId)).toMatchObject({
      partialOutput: ["kept"],
      progress: { current: 3 },
      statusMessage: "third",
    });
    held.end();
  });

  it("a message that a newer one has replaced is not written when the store is back", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start, get, clock } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    const task = taskOf(held.contexts[0]);
    const fail = failReports(store);
    task.sendProgress(1, { message: "old" });
    await settle();
    expect(await task.requireInput("Which?")).toBe(true);
    fail();
    await clock.advance(5000);
    expect(await get(taskId)).toMatchObject({
      status: "input_required",
      statusMessage: "Which?",
      progress: { current: 1 },
    });
    held.end();
  });

  it("progress whose write fails as the work ends is the ended task's", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start, get, clock } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    const fail = failReports(store);
    taskOf(held.contexts[0]).sendProgress(3, { total: 3 });
    await settle();
    held.end();
    await settle();
    fail();
    await clock.advance(5000);
    expect(await get(taskId)).toMatchObject({ status: "completed", progress: { current: 3, total: 3 } });
  });
});

describe("progress", () => {
  it("is told to watchers at once, and coalesced on its way to the record", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { runtime, start, get, clock } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    const told: number[] = [];
    runtime.subscribe(taskId, (news) => news.type === "progress" && told.push(news.progress.current));
    store.calls.length = 0;
    for (let n = 1; n <= 1000; n += 1) taskOf(held.contexts[0]).sendProgress(n, { total: 1000, message: `step ${n}` });
    expect(told).toHaveLength(1000);
    await clock.advance(1000);
    expect(store.writes()).toHaveLength(1);
    expect(await get(taskId)).toMatchObject({
      progress: { current: 1000, total: 1000, message: "step 1000" },
      statusMessage: "step 1000",
      lastUpdatedAt: clock.now() - 1000,
    });
    held.end();
    await settle();
    expect(await get(taskId)).not.toHaveProperty("statusMessage");
  });

  it("is one write together with the output that it speaks of", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { start, get, clock } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    store.calls.length = 0;
    taskOf(held.contexts[0]).recordOutput(["half"]);
    taskOf(held.contexts[0]).sendProgress(1, { message: "half done" });
    await clock.advance(1000);
    expect(store.writes()).toHaveLength(1);
    expect(await get(taskId)).toMatchObject({ partialOutput: ["half"], statusMessage: "half done" });
  });

  it.each(["requireInput", "setWorking"] as const)(
    "that waits to be written does not take back what %s said after it",
    async (say) => {
      const held = new HeldHandler();
      const { start, get, clock } = await openRuntime(held.handler);
      const { taskId } = await start();
      await settle();
      const task = taskOf(held.contexts[0]);
      for (const current of [1, 2, 3]) task.sendProgress(current, { message: `step ${current}` });
      await task[say]("the newest message");
      await clock.advance(1000);
      expect(await get(taskId)).toMatchObject({ statusMessage: "the newest message", progress: { current: 3 } });
      task.sendProgress(4, { message: "step 4" });
      await clock.advance(1000);
      expect(await get(taskId)).toMatchObject({ statusMessage: "step 4" });
      held.end();
    },
  );

  it("that is no number, or without end, is not taken; a long message is cut", async () => {
    const held = new HeldHandler();
    const { start, get } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const task = taskOf(held.contexts[0]);
    expect(task.sendProgress(Number.NaN)).toBe(false);
    expect(task.sendProgress(Number.POSITIVE_INFINITY)).toBe(false);
    expect(task.sendProgress(1, { total: Number.NaN, message: "x".repeat(5000) })).toBe(true);
    await settle();
    expect((await get(taskId))?.progress).toEqual({ current: 1, message: `${"x".repeat(999)}…` });
    held.end();
  });
});

describe("after the end", () => {
  it("late calls answer false, throw nothing and change nothing", async () => {
    const held = new HeldHandler();
    const { start, get, clock, log } = await openRuntime(held.handler);
    const { taskId } = await start();
    await settle();
    const task = taskOf(held.contexts[0]);
    held.end();
    await settle();
    const before = JSON.stringify(await get(taskId));
    expect(await task.setWorking("late")).toBe(false);
    expect(await task.requireInput("late")).toBe(false);
    expect(task.sendProgress(99, { message: "late" })).toBe(false);
    expect(task.recordOutput(["late"])).toBe(false);
    expect(task.registerInterrupt(() => {})).toBe(false);
    expect(await task.checkpoint("late")).toBe(false);
    await expect(task.ask({ method: "elicitation/create", params: {} })).rejects.toMatchObject({
      reason: "task_ended",
    });
    expect(recordOutput(["outside"])).toBe(false);
    await clock.advance(10_000);
    expect(JSON.stringify(await get(taskId))).toBe(before);
    expect(log.errors()).toEqual([]);
  });

  it.each<[string, () => unknown, object]>([
    [
      "an error",
      () => {
        throw new Error("boom");
      },
      { kind: "threw", message: "boom" },
    ],
    [
      "an error without a message",
      () => {
        throw new TypeError();
      },
      { kind: "threw", message: "TypeError" },
    ],
    ["undefined", () => Promise.reject(undefined), { kind: "threw", message: "undefined" }],
    [
      "what has no text",
      () => {
        throw Object.create(null);
      },
      { kind: "threw" },
    ],
    [
      "a result that is too large",
      () => ({ kind: "result", result: text("x".repeat(2000)) }),
      { kind: "threw", reason: "result_too_large" },
    ],
    ["a result that JSON cannot carry", () => ({ kind: "result", result: { n: 1n } }), { kind: "threw" }],
    [
      "an error whose data JSON cannot carry",
      () => ({ kind: "protocol_error", error: { code: 1, message: "no", data: 1n } }),
      { kind: "threw" },
    ],
    ["nothing", () => undefined, { kind: "threw" }],
    ["what is no outcome", () => ({ content: [] }), { kind: "threw" }],
  ])("a tool that brings %s ends its task failed, with the reason", async (_what, work, outcome) => {
    const { runtime, start } = await openRuntime(() => work() as ReturnType<typeof done>, { maxResultBytes: 1000 });
    const { taskId } = await start();
    const ended = await runtime.wait("alice", taskId);
    expect(ended).toMatchObject({ status: "failed", outcome });
    expect(ended?.statusMessage).toBeTruthy();
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("an error result completes, and its text is the status message", async () => {
    const result = {
      isError: true,
      content: [
        { type: "text", text: "no such repo" },
        { type: "image", data: "" },
      ],
    };
    const { runtime, start } = await openRuntime(() => ({ kind: "error_result", result }));
    expect(await runtime.wait("alice", (await start()).taskId)).toMatchObject({
      status: "completed",
      outcome: { kind: "error_result", result },
      statusMessage: "no such repo",
    });
  });
});
