import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { DisplayRegistry } from "../../src/execution/display-registry.js";
import { type RunKernel, type RunRequest, startRun } from "../../src/execution/engine.js";
import type {
  ExecuteRequest,
  ExecutionEnd,
  KernelMessage,
  RunListener,
  RunOptions,
  RunState,
} from "../../src/kernel/index.js";
import type { CellOutput } from "../../src/notebook/index.js";

/** A queue whose kernel does what the test says. */
class ScriptedQueue {
  request: ExecuteRequest | undefined;
  listener: RunListener = {};
  options: RunOptions | undefined;
  cancels = 0;
  end: (end: ExecutionEnd) => void = () => {};
  #state: RunState = { name: "queued", position: 0 };

  readonly submit: RunKernel["queue"]["submit"] = (request, listener = {}, options) => {
    this.request = request;
    this.listener = listener;
    this.options = options;
    const ended = new Promise<ExecutionEnd>((resolve) => {
      this.end = resolve;
    });
    const stateOf = () => this.#state;
    const cancel = async () => {
      this.cancels++;
      return { outcome: "removed" } as const;
    };
    return {
      ended,
      cancel,
      startedAt: null,
      get state() {
        return stateOf();
      },
    };
  };

  say(type: string, content: Record<string, unknown>, late = false): void {
    this.listener.onMessage?.(
      { channel: "iopub", header: { msg_type: type }, content } as unknown as KernelMessage,
      late,
    );
  }

  enter(state: RunState): void {
    this.#state = state;
    this.listener.onState?.(state);
  }
}

const incomplete = { rateLimited: false, reconnected: false, tooLarge: false, unconfirmed: false, unrecorded: false };

function start(more: Partial<RunRequest> = {}) {
  const clock = new FakeClock();
  const queue = new ScriptedQueue();
  const kernel = { queue, displays: new DisplayRegistry() };
  const startedAt = clock.now();
  const run = startRun({ kernel, code: "x", clock, ...more });
  const facts = { executionCount: null, startedAt: startedAt + 20, interruptSent: false, incomplete };
  const finish = (end: object) => queue.end({ ...facts, endedAt: clock.now(), ...end } as ExecutionEnd);
  return { clock, queue, kernel, run, finish };
}
const print = (text: string) => ({ name: "stdout", text });
const stream = (text: string) => ({ output_type: "stream", name: "stdout", text });

describe("a run", () => {
  it("ends with its state, its outputs, its prompt number and its durations", async () => {
    const { clock, queue, run, finish } = start();
    await clock.advance(20);
    queue.say("execute_input", { execution_count: 3 });
    queue.say("stream", print("a\n"));
    await clock.advance(30);
    finish({ state: "completed", reply: { status: "ok", execution_count: 3 } });
    expect(await run.ended).toMatchObject({
      state: "completed",
      executionCount: 3,
      outputs: [stream("a\n")],
      queuedMs: 20,
      ranMs: 30,
    });
  });

  it("has the error of the reply when the server dropped the message with it", async () => {
    const { run, finish } = start();
    const error = { ename: "E", evalue: "v", traceback: ["t"] };
    finish({ state: "errored", error, reply: { status: "error", execution_count: 9 } });
    expect(await run.ended).toMatchObject({ outputs: [{ output_type: "error", ...error }], executionCount: 9 });
  });

  it("that the kernel dropped ends with what there is", async () => {
    const { clock, queue, run, finish } = start();
    queue.say("stream", print("x"));
    await clock.advance(5);
    finish({ state: "kernel_died", reason: "its process ended" });
    expect(await run.ended).toMatchObject({ state: "kernel_died", outputs: [stream("x")] });
    const never = start();
    await never.clock.advance(7);
    never.finish({ state: "aborted", cause: "cancelled", reason: "…", startedAt: null });
    expect(await never.run.ended).toMatchObject({ outputs: [], queuedMs: 7, ranMs: null, executionCount: null });
  });

  it("tells the kernel which cell it is, and the queue what an earlier process has sent", () => {
    const sentBefore = { log: undefined };
    const { queue } = start({ cell: { id: "abc" }, sentBefore, storeHistory: false });
    expect(queue.request).toEqual({ code: "x", metadata: { cellId: "abc" }, storeHistory: false });
    expect(queue.options).toEqual({ sentBefore });
    expect(start().queue.request).toEqual({ code: "x" });
  });

  it("has begun when the kernel is busy with it, and at the latest when it is over", async () => {
    const busy = start();
    busy.queue.say("status", { execution_state: "busy" });
    await busy.run.begun;
    const over = start();
    let begun = false;
    void over.run.begun.then(() => {
      begun = true;
    });
    over.queue.enter({ name: "interrupting" });
    await settle();
    expect(begun).toBe(false);
    over.queue.enter({ name: "done", end: {} as ExecutionEnd });
    await over.run.begun;
  });

  it("is cancelled in the queue, whose report it answers", async () => {
    const { queue, run } = start();
    expect(queue.cancels).toBe(0);
    expect(await run.cancel()).toEqual({ outcome: "removed" });
    expect(queue.cancels).toBe(1);
  });
});

describe("the outputs of a run", () => {
  function follow() {
    const told: { outputs: CellOutput[]; late: boolean }[] = [];
    return { told, ...start({ onOutputs: (outputs, late) => void told.push({ outputs, late }) }) };
  }

  it("are told soon after the first, and then at most every 100 ms", async () => {
    const { told, clock, queue } = follow();
    queue.say("stream", print("1"));
    await clock.advance(0);
    expect(told).toEqual([{ outputs: [stream("1")], late: false }]);
    for (const text of ["2", "3", "4"]) {
      queue.say("stream", print(text));
      await clock.advance(30);
    }
    expect(told).toHaveLength(1);
    await clock.advance(10);
    expect(told.at(-1)?.outputs).toEqual([stream("1234")]);
    expect(told).toHaveLength(2);
  });

  it("are not told once more at the end, since the end has them", async () => {
    const { told, clock, queue, run, finish } = follow();
    queue.say("stream", print("1"));
    finish({ state: "completed", reply: {} });
    expect((await run.ended).outputs).toEqual([stream("1")]);
    await clock.advance(1_000);
    expect(told).toEqual([]);
  });

  it("are told as late when a thread prints after the end, or another run updates a display", async () => {
    const { told, clock, queue, kernel, run, finish } = follow();
    queue.say("display_data", { data: { "text/plain": "a" }, metadata: {}, transient: { display_id: "d" } });
    finish({ state: "completed", reply: {} });
    await run.ended;
    queue.say("stream", print("late"), true);
    await clock.advance(0);
    expect(told).toMatchObject([{ outputs: [{ data: { "text/plain": "a" } }, stream("late")], late: true }]);
    kernel.displays.update("d", { data: { "text/plain": "b" } });
    await clock.advance(100);
    expect(told.at(-1)).toMatchObject({ outputs: [{ data: { "text/plain": "b" } }, stream("late")], late: true });
  });

  it("that a follower fails on cost nobody anything", async () => {
    const errors: object[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
    const onOutputs = () => Promise.reject(new Error("disk full"));
    const { clock, queue, run, finish } = start({ onOutputs, logger });
    queue.say("stream", print("1"));
    await clock.advance(0);
    finish({ state: "completed", reply: {} });
    expect((await run.ended).outputs).toEqual([stream("1")]);
    expect(errors).toEqual([{ error: "Error: disk full" }]);
  });
});
