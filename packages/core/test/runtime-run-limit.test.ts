import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { text } from "./kit/records.js";
import { endless, HeldHandler, openRuntime, stoppable, taskOf } from "./kit/runtime.js";

const LIMIT = { tool: { maxRunMs: 2000, cancelGraceMs: 500 } };

describe("the limit on how long a tool may run", () => {
  it("ends a task that nobody asks after any more: told to stop, failed, with the reason", async () => {
    let stopped = false;
    const { start, get, clock, runtime } = await openRuntime((args, context) => {
      taskOf(context).registerInterrupt(() => {
        stopped = true;
      });
      return stoppable(args, context);
    }, LIMIT);
    const { taskId } = await start({ ttlMs: 60_000 });
    await clock.advance(1999);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(1);
    expect(stopped).toBe(true);
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      outcome: { kind: "threw", reason: "run_time_exceeded" },
      statusMessage: expect.stringContaining("2000 ms"),
    });
    expect(runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("says so when the work may still be running", async () => {
    const { start, get, clock } = await openRuntime(endless, LIMIT);
    const { taskId } = await start();
    await clock.advance(2500);
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      statusMessage: expect.stringContaining("may still be running"),
    });
  });

  it("a complete result that comes while it is being stopped counts", async () => {
    const { start, get, clock } = await openRuntime(async (_args, context) => {
      await context.cancelToken.wait();
      return { kind: "result", result: text("just in time") };
    }, LIMIT);
    const { taskId } = await start();
    await clock.advance(2000);
    expect(await get(taskId)).toMatchObject({ status: "completed" });
  });

  it("does not count the time that a person takes, and goes on where it stopped", async () => {
    const held = new HeldHandler();
    const { start, get, clock, runtime } = await openRuntime(held.handler, LIMIT);
    const { taskId } = await start();
    await clock.advance(1500);
    const both = Promise.all(
      ["a", "b"].map((n) => taskOf(held.contexts[0]).ask({ method: "elicitation/create", params: { n } })),
    );
    both.catch(() => {});
    await clock.advance(50_000);
    const [first, second] = (await get(taskId))?.questions.map(({ key }) => key) ?? [];
    await runtime.answer("alice", taskId, first ?? "", {});
    await clock.advance(50_000);
    expect(await get(taskId)).toMatchObject({ status: "input_required" });
    await runtime.answer("alice", taskId, second ?? "", {});
    await clock.advance(499);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(600);
    expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
    held.end();
  });

  it("does not count time in the queue, nor run on after the end", async () => {
    const held = new HeldHandler();
    const { InProcessRunner } = await import("@claimcheck/core");
    const { start, get, clock } = await openRuntime(held.handler, {
      ...LIMIT,
      runner: new InProcessRunner({ concurrency: 1 }),
    });
    await start();
    const second = await start();
    await clock.advance(1900);
    held.end();
    await clock.advance(1900);
    expect(await get(second.taskId)).toMatchObject({ status: "working" });
    held.end();
    await clock.advance(10_000);
    expect(await get(second.taskId)).toMatchObject({ status: "completed" });
  });

  it("of 400 days is not reached a day early, and takes no timer of its own", async () => {
    const day = 24 * 60 * 60_000;
    const held = new HeldHandler();
    const { start, get, clock } = await openRuntime(held.handler, {
      tool: { maxRunMs: 400 * day },
      sweepIntervalMs: 10 ** 12,
    });
    const tasks = await Promise.all(Array.from({ length: 50 }, () => start()));
    await settle();
    expect(clock.pending).toBe(2);
    await clock.advance(399 * day);
    expect(await get(tasks[0]?.taskId ?? "")).toMatchObject({ status: "working" });
    held.end();
  });
});
