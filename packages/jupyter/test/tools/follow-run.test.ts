import { CancelledError, type CancelSource, directContext, type TaskHandle, type ToolContext } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import type { CancelReport, ExecutionEnd } from "../../src/kernel/index.js";
import { type Followed, followRun } from "../../src/tools/follow-run.js";
import { WaitLimit } from "../../src/tools/wait-limit.js";

const STOPPED: CancelReport = { outcome: "stopped", idleSeen: true, elapsedMs: 5, interruptsSent: 1 };
const IGNORED: CancelReport = { outcome: "interrupt_ignored", idleSeen: false, elapsedMs: 5000, interruptsSent: 2 };

const FACTS = {
  executionCount: 1,
  startedAt: 0,
  endedAt: 1,
  interruptSent: false,
  incomplete: { rateLimited: false, reconnected: false, tooLarge: false, unconfirmed: false, unrecorded: false },
};
const COMPLETED: ExecutionEnd = { ...FACTS, state: "completed", reply: {} };
const INTERRUPTED: ExecutionEnd = {
  ...FACTS,
  state: "interrupted",
  interruptSent: true,
  error: { ename: "KeyboardInterrupt", evalue: "", traceback: [] },
  reply: {},
};

class FakeRun {
  ignoreLimit: () => void = () => {};
  end: (end: ExecutionEnd) => void = () => {};
  cancels = 0;
  readonly limit = {
    hasPassed: false,
    ignored: new Promise<void>((resolve) => {
      this.ignoreLimit = resolve;
    }),
  };
  readonly ended = new Promise<ExecutionEnd>((resolve) => {
    this.end = resolve;
  });
  readonly #whenCancelled: { report: CancelReport; end?: ExecutionEnd };

  constructor(whenCancelled: { report: CancelReport; end?: ExecutionEnd } = { report: STOPPED, end: INTERRUPTED }) {
    this.#whenCancelled = whenCancelled;
  }

  async cancel(): Promise<CancelReport> {
    this.cancels++;
    if (this.#whenCancelled.end !== undefined) this.end(this.#whenCancelled.end);
    return this.#whenCancelled.report;
  }
}

interface Call {
  clock: FakeClock;
  ctx: ToolContext;
  cancelSource: CancelSource;
  interrupts: (() => unknown)[];
}

function call(kind: "task" | "direct"): Call {
  const { context, cancelSource } = directContext({}, undefined);
  const interrupts: (() => unknown)[] = [];
  const task = {
    registerInterrupt: (stop: () => unknown) => {
      interrupts.push(stop);
      return true;
    },
  } as unknown as TaskHandle;
  const ctx = kind === "task" ? Object.defineProperty(context, "task", { value: task }) : context;
  return { clock: new FakeClock(0), ctx, cancelSource, interrupts };
}

function follow(
  run: FakeRun,
  { ctx, clock }: Call,
  whenCancelled: "stop" | "leave" = "stop",
  waitLimit = new WaitLimit(50_000, clock),
) {
  const settled: { value?: Followed; error?: unknown } = {};
  followRun(run, ctx, { waitLimit, whenCancelled }).then(
    (value) => {
      settled.value = value;
    },
    (error) => {
      settled.error = error;
    },
  );
  return settled;
}

test("a run that ends is told, and leaves no timer", async () => {
  const direct = call("direct");
  const run = new FakeRun();
  const settled = follow(run, direct);
  run.end(COMPLETED);
  await settle();
  expect(settled.value).toEqual({ kind: "ended", end: COMPLETED, limit: undefined });
  expect(direct.clock.pending).toBe(0);
});

describe("the waiting limit", () => {
  test("ends a direct call and leaves its run alone", async () => {
    const direct = call("direct");
    const run = new FakeRun();
    const settled = follow(run, direct);
    await direct.clock.advance(49_999);
    expect(settled.value).toBeUndefined();
    await direct.clock.advance(1);
    expect(settled.value).toEqual({ kind: "still_running", limit: "timeout" });
    expect(run.cancels).toBe(0);
  });

  test("has been counting since the call began, whatever it waited for before there was a run", async () => {
    const direct = call("direct");
    const waitLimit = new WaitLimit(50_000, direct.clock);
    await direct.clock.advance(49_000);
    const settled = follow(new FakeRun(), direct, "stop", waitLimit);
    await direct.clock.advance(1_000);
    expect(settled.value).toEqual({ kind: "still_running", limit: "timeout" });
  });

  test("that has passed already does not hide that the run has ended", async () => {
    const direct = call("direct");
    const waitLimit = new WaitLimit(50_000, direct.clock);
    await direct.clock.advance(60_000);
    const run = new FakeRun();
    run.end(COMPLETED);
    const settled = follow(run, direct, "stop", waitLimit);
    await settle();
    expect(settled.value).toMatchObject({ kind: "ended" });
  });

  test("does not exist for a task", async () => {
    const task = call("task");
    const settled = follow(new FakeRun(), task);
    await task.clock.advance(24 * 60 * 60_000);
    expect(settled).toEqual({});
  });
});

describe.each(["direct", "task"] as const)("the run limit of a %s call", (kind) => {
  test("that has interrupted the run is named with its end", async () => {
    const it = call(kind);
    const run = new FakeRun();
    const settled = follow(run, it);
    run.limit.hasPassed = true;
    run.end(INTERRUPTED);
    await settle();
    expect(settled.value).toEqual({ kind: "ended", end: INTERRUPTED, limit: "interrupt_after" });
  });

  test("that is ignored ends the waiting, and is named", async () => {
    const it = call(kind);
    const run = new FakeRun();
    const settled = follow(run, it);
    run.ignoreLimit();
    await settle();
    expect(settled.value).toEqual({ kind: "still_running", limit: "interrupt_after" });
    expect(it.clock.pending).toBe(0);
  });
});

describe("cancelling", () => {
  test("a direct call stops the run when its caller goes away", async () => {
    const direct = call("direct");
    const run = new FakeRun();
    const settled = follow(run, direct);
    await settle();
    direct.cancelSource.cancel();
    await settle();
    expect(run.cancels).toBe(1);
    expect(settled.error).toBeInstanceOf(CancelledError);
    expect(direct.clock.pending).toBe(0);
  });

  test("a direct call is over even if the kernel ignores the interrupt", async () => {
    const direct = call("direct");
    const settled = follow(new FakeRun({ report: IGNORED }), direct);
    direct.cancelSource.cancel();
    await settle();
    expect(settled.error).toBeInstanceOf(CancelledError);
  });

  test("a call that only looks leaves the run alone", async () => {
    const direct = call("direct");
    const run = new FakeRun();
    const settled = follow(run, direct, "leave");
    direct.cancelSource.cancel();
    await settle();
    expect(run.cancels).toBe(0);
    expect(settled.error).toBeInstanceOf(CancelledError);
  });

  test("a task registers the interrupt, and is over only when the run is", async () => {
    const task = call("task");
    const run = new FakeRun({ report: STOPPED });
    const settled = follow(run, task);
    task.cancelSource.cancel();
    await task.interrupts[0]?.();
    expect(run.cancels).toBe(1);
    expect(settled).toEqual({});
    run.end(INTERRUPTED);
    await settle();
    expect(settled.error).toBeInstanceOf(CancelledError);
  });

  test("a task hears that its kernel ignores the interrupt", async () => {
    const task = call("task");
    follow(new FakeRun({ report: IGNORED }), task);
    await expect(task.interrupts[0]?.()).rejects.toThrow(/still busy.*[Rr]estarting/);
  });

  test("a task hears why an interrupt was refused", async () => {
    const task = call("task");
    follow(new FakeRun({ report: { ...IGNORED, error: new Error("HTTP 500") } }), task);
    await expect(task.interrupts[0]?.()).rejects.toThrow(/HTTP 500/);
  });

  test("a complete result wins over a cancellation that came too late for the run", async () => {
    const task = call("task");
    const run = new FakeRun();
    const settled = follow(run, task);
    run.end(COMPLETED);
    task.cancelSource.cancel();
    await settle();
    expect(settled.value).toMatchObject({ kind: "ended", end: COMPLETED });
  });

  test("a run that swallowed the interrupt and ended well is cancelled all the same", async () => {
    const task = call("task");
    const run = new FakeRun();
    const settled = follow(run, task);
    task.cancelSource.cancel();
    run.end({ ...COMPLETED, interruptSent: true });
    await settle();
    expect(settled.error).toBeInstanceOf(CancelledError);
  });
});
