import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import { Execution } from "../../src/kernel/execution.js";
import { type InterruptReport, interruptExecution } from "../../src/kernel/interrupt.js";
import { createMessage } from "../../src/kernel/messages.js";

const US = { sessionId: "ours", username: "u" };
const KERNEL = { sessionId: "kernel", username: "k" };

/** A request at a kernel that says what it is told to say, and the record of what reached the kernel. */
class Bench {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly #request = createMessage(US, { channel: "shell", type: "execute_request" });
  readonly execution: Execution = new Execution({
    request: this.#request,
    sessionId: US.sessionId,
    clock: this.clock,
    listener: {},
    reply: () => {},
    onListenerError: () => {},
  });
  readonly #startedAt = this.clock.now();
  interrupt: () => Promise<void> = async () => {};

  begin(): void {
    this.#say("iopub", "status", { execution_state: "busy" });
    this.#say("iopub", "execute_input", { code: "x", execution_count: 1 });
  }

  end(reply: Record<string, unknown>): void {
    this.#say("shell", "execute_reply", reply);
    this.idle();
  }

  idle(): void {
    this.#say("iopub", "status", { execution_state: "idle" });
  }

  climb(): Promise<InterruptReport> {
    return interruptExecution({
      execution: this.execution,
      clock: this.clock,
      interrupt: async () => {
        this.#note("interrupt");
        await this.interrupt();
      },
      nudge: () => this.#note("nudge"),
    });
  }

  #note(what: string): void {
    this.log.push(`${what}@${this.clock.now() - this.#startedAt}`);
  }

  #say(channel: "iopub" | "shell", type: string, content: Record<string, unknown>): void {
    this.execution.receive(createMessage(KERNEL, { channel, type, content, parent: this.#request }));
  }
}

const INTERRUPTED = { status: "error", ename: "KeyboardInterrupt", evalue: "", traceback: [] };

describe("the ladder", () => {
  test("sends nothing for a request that has not begun, or is over", async () => {
    const bench = new Bench();
    expect(await bench.climb()).toMatchObject({ outcome: "not_running", interruptsSent: 0 });
    bench.begin();
    bench.end({ status: "ok" });
    expect(await bench.climb()).toMatchObject({ outcome: "not_running", interruptsSent: 0 });
    expect(bench.log).toEqual([]);
  });

  test("sends nothing while the kernel is idle after it and only its reply is still to come", async () => {
    const bench = new Bench();
    bench.begin();
    bench.idle();
    expect((await bench.climb()).outcome).toBe("not_running");
    expect(bench.log).toEqual([]);
  });

  test("ends with the first interrupt when that is enough, and leaves no timer", async () => {
    const bench = new Bench();
    bench.begin();
    const climbing = bench.climb();
    await bench.clock.advance(40);
    bench.end(INTERRUPTED);
    expect(await climbing).toEqual({ outcome: "stopped", idleSeen: true, elapsedMs: 40, interruptsSent: 1 });
    expect(bench.execution.end?.state).toBe("interrupted");
    expect(bench.log).toEqual(["interrupt@0"]);
    expect(bench.clock.pending).toBe(0);
  });

  test("nudges at 150 ms, interrupts again at 2 s, and reports at 5 s that it is ignored", async () => {
    const bench = new Bench();
    bench.begin();
    const climbing = bench.climb();
    await bench.clock.advance(5_000);
    expect(await climbing).toEqual({
      outcome: "interrupt_ignored",
      idleSeen: false,
      elapsedMs: 5_000,
      interruptsSent: 2,
    });
    expect(bench.log).toEqual(["interrupt@0", "nudge@150", "interrupt@2000", "nudge@2150"]);
    expect(bench.execution.isRunning).toBe(true);
    expect(bench.clock.pending).toBe(0);
  });

  test("waits for an interrupt that is still on its way before anything else may run", async () => {
    const bench = new Bench();
    let deliver = (): void => {};
    bench.interrupt = () => new Promise((resolve) => (deliver = resolve));
    bench.begin();
    let done = false;
    const climbing = bench.climb().finally(() => (done = true));
    bench.end({ status: "ok" });
    await settle();
    expect(done).toBe(false);
    deliver();
    expect((await climbing).outcome).toBe("stopped");
  });

  test("goes on after an interrupt that the server refused, and says so", async () => {
    const bench = new Bench();
    let calls = 0;
    bench.interrupt = async () => {
      if (++calls === 1) throw new Error("refused");
    };
    bench.begin();
    const climbing = bench.climb();
    await bench.clock.advance(2_000);
    bench.end(INTERRUPTED);
    expect(await climbing).toMatchObject({ outcome: "stopped", interruptsSent: 1, error: new Error("refused") });
  });

  test("has the lost reply of an interrupted request proved", async () => {
    const bench = new Bench();
    bench.begin();
    const climbing = bench.climb();
    bench.idle();
    await climbing;
    expect(bench.log).toEqual(["interrupt@0", "nudge@0"]);
  });
});

describe("a request that ends just as it is interrupted", () => {
  test.each([
    [{ status: "ok" }, "completed"],
    [{ status: "error", ename: "ValueError", evalue: "own", traceback: [] }, "errored"],
    [INTERRUPTED, "interrupted"],
    [{ ...INTERRUPTED, ename: "CancelledError" }, "interrupted"],
    [{ status: "aborted" }, "interrupted"],
  ])("with %j is %s", async (reply, state) => {
    const bench = new Bench();
    bench.begin();
    const climbing = bench.climb();
    bench.end(reply);
    await climbing;
    expect(bench.execution.end).toMatchObject({ state, interruptSent: true });
  });

  test("is errored and not interrupted when nobody here interrupted it", () => {
    const bench = new Bench();
    bench.begin();
    bench.end(INTERRUPTED);
    expect(bench.execution.end).toMatchObject({ state: "errored", interruptSent: false });
  });
});

test("a kernel that never repeats the code counts as running a little after it became busy", async () => {
  const clock = new FakeClock();
  const request = createMessage(US, { channel: "shell", type: "execute_request" });
  const execution = new Execution({
    request,
    sessionId: "ours",
    clock,
    listener: {},
    reply: () => {},
    onListenerError: () => {},
  });
  const busy = { channel: "iopub", type: "status", content: { execution_state: "busy" }, parent: request } as const;
  execution.receive(createMessage(KERNEL, busy));
  expect(execution.isRunning).toBe(false);
  await clock.advance(250);
  expect(execution.isRunning).toBe(true);
});
