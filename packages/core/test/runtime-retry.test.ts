import { type CancelledResult, RetryableError, type ToolDefinition, type ToolHandler } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { cluster } from "./kit/cluster.js";
import { text } from "./kit/records.js";
import {
  type Bench,
  type BenchOptions,
  closeSoon,
  done,
  newRuntime,
  openRuntime,
  stoppable,
  taskOf,
} from "./kit/runtime.js";

const busy = (options?: { retryAfterMs?: number }) => new RetryableError("The service is busy.", options);

/** Throws what it is given, one error a try, and ends well when there is none left. */
class Tries {
  readonly startedAt: number[] = [];
  readonly #errors: unknown[];

  constructor(...errors: unknown[]) {
    this.#errors = errors;
  }

  handler(clock: FakeClock): ToolHandler {
    return () => {
      this.startedAt.push(clock.now());
      if (this.#errors.length > 0) throw this.#errors.shift();
      return { kind: "result", result: text("done") };
    };
  }
}

async function start(
  tries: Tries,
  recovery: NonNullable<ToolDefinition["recovery"]> = "retry",
  options: BenchOptions = {},
): Promise<Bench & { taskId: string }> {
  const clock = options.clock ?? new FakeClock();
  const { tool, ...rest } = options;
  const bench = await openRuntime(tries.handler(clock), { ...rest, clock, tool: { recovery, ...tool } });
  const { taskId } = await bench.start();
  await settle();
  return { ...bench, taskId };
}

describe("a tool that throws what a later try may not", () => {
  it("is run again after a pause, in which clients see it working and why it is not done", async () => {
    const tries = new Tries(busy());
    const { clock, get, taskId, runtime } = await start(tries);
    expect(await get(taskId)).toMatchObject({
      status: "working",
      statusMessage: expect.stringMatching(/^Try 1 of 3 failed; the next one begins in .*The service is busy\.$/),
      attempt: { state: "queued", tries: 1 },
    });
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
    await clock.advance(1000);
    expect(tries.startedAt).toHaveLength(2);
    const ended = await get(taskId);
    expect(ended).toMatchObject({ status: "completed", attempt: { epoch: 2, tries: 2 } });
    expect(ended).not.toHaveProperty("statusMessage");
  });

  it("waits longer each time, between half of what is due and all of it, and never longer than the most", async () => {
    const tries = new Tries(busy(), busy(), busy(), busy());
    const recovery = { retry: { tries: 5, backOffMs: 10_000, maxBackOffMs: 40_000 } };
    const { clock, get, taskId } = await start(tries, recovery);
    await clock.advance(200_000);
    expect(await get(taskId)).toMatchObject({ status: "completed" });
    const [first, ...pauses] = tries.startedAt.map((at, nth) => at - (tries.startedAt[nth - 1] ?? at));
    expect(first).toBe(0);
    for (const [nth, dueMs] of [10_000, 20_000, 40_000, 40_000].entries()) {
      expect(pauses[nth]).toBeGreaterThanOrEqual(dueMs / 2);
      expect(pauses[nth]).toBeLessThanOrEqual(dueMs);
    }
  });

  it("waits as long as the error says where it says so", async () => {
    const tries = new Tries(busy({ retryAfterMs: 120_000 }));
    const { clock } = await start(tries);
    await clock.advance(119_999);
    expect(tries.startedAt).toHaveLength(1);
    await clock.advance(1);
    expect(tries.startedAt).toHaveLength(2);
  });

  it("is run a bounded number of times, and fails with the last error and all that was produced", async () => {
    let runs = 0;
    const {
      clock,
      get,
      start: create,
    } = await openRuntime(
      (_args, context) => {
        runs += 1;
        taskOf(context).recordOutput([`try ${runs}`]);
        throw new RetryableError(`No ${runs}.`);
      },
      { tool: { recovery: { retry: { tries: 2 } } } },
    );
    const { taskId } = await create();
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "working", partialOutput: ["try 1"] });
    await clock.advance(60_000);
    expect(runs).toBe(2);
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      outcome: { kind: "threw", message: "No 2." },
      partialOutput: ["try 2"],
    });
    expect((await get(taskId))?.status === "failed" && (await get(taskId))).not.toHaveProperty("outcome.retry");
  });

  it("is not run again for any other error, nor by any other policy", async () => {
    for (const [error, recovery] of [
      [new Error("wrong for good"), "retry"],
      [busy(), "fail"],
      [busy(), { resume: stoppable }],
    ] as const) {
      const tries = new Tries(error);
      const { get, taskId } = await start(tries, recovery);
      expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { message: error.message } });
    }
  });

  it("may say by a predicate which errors pass; one that throws says that none does", async () => {
    const isRetryable = (error: unknown): boolean => {
      if (error instanceof RangeError) throw new Error("the predicate is broken");
      return error instanceof TypeError;
    };
    const passing = await start(new Tries(new TypeError("a")), { retry: { isRetryable } });
    expect(await passing.get(passing.taskId)).toMatchObject({ status: "working", attempt: { state: "queued" } });
    const lasting = await start(new Tries(new RangeError("b")), { retry: { isRetryable } });
    expect(await lasting.get(lasting.taskId)).toMatchObject({ status: "failed", outcome: { message: "b" } });
  });

  it("withdraws what the failed try still asked, and asks anew", async () => {
    let runs = 0;
    const {
      clock,
      get,
      start: create,
    } = await openRuntime(
      async (_args, context) => {
        runs += 1;
        const asking = taskOf(context).ask({ method: "elicitation/create", params: { n: 1 } });
        asking.catch(() => {});
        if (runs > 1) return { kind: "result", result: { answer: await asking } };
        await settle();
        throw busy();
      },
      { tool: { recovery: "retry" } },
    );
    const { taskId } = await create();
    await clock.advance(0);
    expect(await get(taskId)).toMatchObject({ status: "working", questions: [{ withdrawnAt: expect.any(Number) }] });
    await clock.advance(1000);
    const asked = await get(taskId);
    expect(asked).toMatchObject({ status: "input_required", questions: [{}, { params: { n: 1 } }] });
    expect(asked?.questions[1]).not.toHaveProperty("withdrawnAt");
  });

  it("may run no longer than its limit in all tries together, pauses not counted", async () => {
    const clock = new FakeClock();
    let runs = 0;
    const slow: ToolHandler = async (_args, context) => {
      runs += 1;
      await Promise.race([context.cancelToken.wait(), new Promise<void>((resolve) => clock.setTimer(resolve, 1500))]);
      throw busy();
    };
    const tool = { recovery: { retry: { tries: 9, backOffMs: 10_000 } }, maxRunMs: 2000 };
    const { get, start: create } = await openRuntime(slow, { clock, tool });
    const { taskId } = await create();
    await clock.advance(60_000);
    expect(runs).toBe(2);
    expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
  });
});

describe("the pause between two tries", () => {
  it("can be cancelled: nothing is run again, and what was produced is kept", async () => {
    let runs = 0;
    const {
      clock,
      get,
      runtime,
      start: create,
    } = await openRuntime(
      (_args, context) => {
        runs += 1;
        taskOf(context).recordOutput(["half"]);
        throw busy();
      },
      { tool: { recovery: "retry" } },
    );
    const { taskId } = await create();
    await settle();
    const cancelled = await runtime.cancel("alice", taskId);
    expect(cancelled).toMatchObject({
      cancelled: true,
      task: { status: "cancelled", cancellation: { how: "stopped" }, partialOutput: ["half"] },
    });
    await clock.advance(60_000);
    expect(runs).toBe(1);
    expect(await get(taskId)).toMatchObject({ status: "cancelled" });
  });

  it("does not begin for a task that another process has asked to cancel: it ends at once, with what was produced", async () => {
    const { node } = cluster({ tool: { recovery: "retry" } });
    let fail = (): void => {};
    const { start: create, store } = await node(async (_args, context) => {
      taskOf(context).recordOutput(["half"]);
      await new Promise<void>((resolve) => {
        fail = resolve;
      });
      throw busy();
    });
    const { runtime } = await node(done);
    const { taskId } = await create();
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    // The wish is in the store, and nobody has told of it here yet.
    while ((await store.get(taskId))?.cancellation === undefined) await Promise.resolve();
    fail();
    const { task } = (await cancelling) as CancelledResult;
    expect(task).toMatchObject({ status: "cancelled", cancellation: { how: "stopped" }, partialOutput: ["half"] });
  });

  it("costs no timer of its own", async () => {
    const clock = new FakeClock();
    const { start: create } = await openRuntime(
      () => {
        throw busy();
      },
      { clock, tool: { recovery: "retry" } },
    );
    const before = clock.pending;
    for (let nth = 0; nth < 50; nth += 1) await create();
    await settle();
    expect(clock.pending).toBeLessThanOrEqual(before + 1);
  });

  it("is kept by whoever comes when the process that began it is gone", async () => {
    const { clock, backend, node } = cluster({ tool: { recovery: { retry: { backOffMs: 60_000 } } } });
    const tries = new Tries(busy());
    const handler = tries.handler(clock);
    const dead = await node(handler);
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    const { attempt } = (await backend.memory.get(taskId)) ?? {};
    const notBeforeAt = (attempt as { notBeforeAt?: number }).notBeforeAt ?? 0;
    await node(handler);
    await clock.advance(notBeforeAt - clock.now() - 1);
    expect(tries.startedAt).toHaveLength(1);
    await clock.advance(1);
    expect(tries.startedAt).toHaveLength(2);
    expect(await backend.memory.get(taskId)).toMatchObject({ status: "completed", attempt: { tries: 2 } });
  });

  it("ends in one of many processes only", async () => {
    const { clock, node } = cluster({ tool: { recovery: "retry" } });
    const tries = new Tries(busy(), busy());
    const handler = tries.handler(clock);
    const nodes = await Promise.all(Array.from({ length: 5 }, () => node(handler)));
    await (nodes[0] as Bench).start();
    await clock.advance(60_000);
    expect(tries.startedAt).toHaveLength(3);
  });

  it("goes on where a runtime is closed and opened again", async () => {
    const clock = new FakeClock();
    const tries = new Tries(busy());
    const bench = newRuntime(tries.handler(clock), { clock, tool: { recovery: "retry" } });
    await bench.runtime.open();
    const { taskId } = await bench.start();
    await settle();
    await closeSoon(bench);
    expect(clock.pending).toBe(0);
    expect(tries.startedAt).toHaveLength(1);
    await bench.runtime.open();
    await clock.advance(1000);
    expect(await bench.get(taskId)).toMatchObject({ status: "completed" });
    await closeSoon(bench);
  });

  it("does not begin where nobody would be there at its end", async () => {
    const bench = newRuntime(
      async (_args, context) => {
        await context.cancelToken.wait();
        throw busy();
      },
      { tool: { recovery: "retry" } },
    );
    await bench.runtime.open();
    const { taskId } = await bench.start();
    await settle();
    await closeSoon(bench);
    expect(await bench.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "shutdown" } });
  });
});

describe("what a tool may say of its recovery", () => {
  it.each<[unknown, string]>([
    ["resume", "{ resume: (args, ctx, checkpoint) => … }"],
    ["sometimes", 'got "sometimes"'],
    [{}, "an object of nothing"],
    [{ retry: { tries: 0 } }, "tries must be a whole number of at least 1; got 0"],
    [{ retry: { tries: 1.5 } }, "got 1.5"],
    [{ retry: { backOffMs: -1 } }, "backOffMs must be a whole number of at least 0; got -1"],
    [{ retry: { maxBackOffMs: Number.NaN } }, "maxBackOffMs"],
    [{ retry: { isRetryable: true } }, "isRetryable must be a function"],
    [{ retry: { attempts: 3 } }, "no option attempts"],
    [{ retry: null }, "an object of options; got null"],
    [{ resume: "yes" }, "resume must be a function"],
    [{ resume: stoppable, tries: 0 }, "tries must be"],
    [{ retry: {}, resume: stoppable }, "an object of retry, resume"],
  ])("%o is refused, with the tool's name and what would be right", async (recovery, why) => {
    const { runtime } = newRuntime(stoppable);
    const define = (): void => runtime.define({ name: "odd", handler: stoppable, recovery: recovery as "fail" });
    expect(define).toThrow('"odd"');
    expect(define).toThrow(why);
    await expect(runtime.create({ owner: "a", toolName: "odd", arguments: {} })).rejects.toThrow();
  });
});
