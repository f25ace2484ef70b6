/** The context double: a handler as a task, without any server. */
import { recordOutput } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { QuestionRefusedError, QuestionWithdrawnError, RetryableError, type ToolContext } from "../../src/index.js";
import { FakeClock, runTask, settle } from "../../src/testing/index.js";

const deaf = () => new Promise<never>(() => {});
const CONFIRM = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;

it("a handler gets its arguments and a context, and what it returns is seen as it is and as the task's outcome", async () => {
  const run = await runTask(async ({ depth }: { depth: number }) => ({ feet: depth * 3 }), { depth: 2 });
  const returned = await run.returned;
  expect(returned.feet).toBe(6);
  const ended = await run.ended;
  expect(ended).toMatchObject({ status: "completed", outcome: { kind: "result" } });
  expect(ended.status === "completed" && ended.outcome.result).toEqual({
    content: [{ type: "text", text: '{"feet":6}' }],
    structuredContent: { feet: 6 },
  });
});

it("a handler that throws is seen to throw, and its task to fail, at once and later", async () => {
  for (const handler of [
    () => {
      throw new Error("rock");
    },
    async () => {
      await settle();
      throw new Error("rock");
    },
  ]) {
    const run = await runTask(handler, {});
    await expect(run.returned).rejects.toThrow("rock");
    expect(await run.ended).toMatchObject({ status: "failed", outcome: { kind: "threw", message: "rock" } });
  }
});

it("nobody needs to look at what is thrown", async () => {
  const run = await runTask(() => Promise.reject(new Error("rock")), {});
  expect((await run.ended).status).toBe("failed");
});

it("progress, log, output, messages and checkpoint are seen as they are said, and in the record", async () => {
  let goOn = (): void => {};
  const said = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const run = await runTask(async (_args: object, ctx) => {
    ctx.task?.sendProgress(1, { total: 2, message: "half" });
    ctx.sendProgress(2, { total: 2 });
    expect(ctx.log("debug", { page: 1 }, "printer")).toBe(true);
    ctx.task?.recordOutput(["one"]);
    recordOutput(["one", "two"]);
    await ctx.task?.checkpoint({ at: 2 });
    await ctx.task?.requireInput("Look at the printer.");
    await ctx.task?.setWorking("On we go.");
    await said;
    return "done";
  }, {});
  await run.until(({ statusMessage }) => statusMessage === "On we go.");
  expect(run.logged).toEqual([{ level: "debug", data: { page: 1 }, logger: "printer" }]);
  expect(run.progress).toEqual([
    { current: 1, total: 2, message: "half" },
    { current: 2, total: 2 },
  ]);
  expect(run.output).toEqual(["one", "two"]);
  expect(run.record).toMatchObject({ status: "working", checkpoint: { at: 2 } });
  await run.clock.advance(100);
  expect(run.record.partialOutput).toEqual(["one", "two"]);
  goOn();
  await run.ended;
  expect(run.statuses).toEqual([
    { status: "working", message: undefined },
    { status: "working", message: "half" },
    { status: "input_required", message: "Look at the printer." },
    { status: "working", message: "On we go." },
    { status: "completed", message: undefined },
  ]);
});

describe("cancelling", () => {
  it("fires signal, token and interrupts, and what was produced is kept", async () => {
    const order: string[] = [];
    const run = await runTask(async (_args: object, ctx) => {
      ctx.signal.addEventListener("abort", () => order.push("signalled"));
      ctx.task?.registerInterrupt(() => order.push("interrupted"));
      ctx.task?.recordOutput(["one foot"]);
      expect(await ctx.cancelToken.wait()).toBe(true);
      ctx.cancelToken.checkCancelled();
    }, {});
    expect(await run.cancel()).toMatchObject({
      status: "cancelled",
      partialOutput: ["one foot"],
      cancellation: { how: "stopped" },
    });
    expect(order).toEqual(["signalled", "interrupted"]);
    await expect(run.returned).rejects.toThrow("cancelled");
  });

  it("of a handler that does not stop escalates after the grace, and then says that it still runs", async () => {
    let escalated = 0;
    const config = { cancelGraceMs: 2000 };
    const run = await runTask(
      (_args: object, ctx) => {
        ctx.task?.registerInterrupt(() => {}, { escalate: () => escalated++ });
        return new Promise<never>(() => {});
      },
      {},
      { config },
    );
    const cancelled = run.cancel();
    await run.clock.advance(1999);
    expect(escalated).toBe(0);
    await run.clock.advance(1);
    expect(escalated).toBe(1);
    await run.clock.advance(2000);
    expect((await cancelled).cancellation).toMatchObject({ how: "still_running" });
  });
});

it("a limit on the run is kept by the clock, which may be the test's own", async () => {
  const clock = new FakeClock();
  const run = await runTask(deaf, {}, { config: { maxRunMs: 1000, cancelGraceMs: 10 }, clock });
  await clock.advance(1020);
  expect(await run.ended).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
});

it("a tool that is tried again is, after a pause by the clock", async () => {
  let tries = 0;
  const flaky = () => {
    tries += 1;
    if (tries === 1) throw new RetryableError("busy", { retryAfterMs: 60_000 });
    return "done";
  };
  const run = await runTask(flaky, {}, { config: { recovery: "retry" } });
  await expect(run.returned).rejects.toThrow("busy");
  await run.clock.advance(59_000);
  expect([run.record.status, tries]).toEqual(["working", 1]);
  await run.clock.advance(1000);
  expect((await run.ended).status).toBe("completed");
});

describe("questions", () => {
  const sure = (ctx: ToolContext) => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM });

  it("are waited for, each handed out once, and their answers checked and told to the handler", async () => {
    const run = await runTask(
      async (_args: object, ctx) => [await Promise.all([sure(ctx), ctx.sample({ prompt: 1 })]), await ctx.listRoots()],
      {},
    );
    const [first, second] = [await run.question(), await run.question()];
    expect(first).toMatchObject({ method: "elicitation/create", params: { mode: "form", message: "Sure?" } });
    expect(second).toMatchObject({ method: "sampling/createMessage", params: { prompt: 1 } });
    expect(run.record.status).toBe("input_required");
    await expect(first.answer({ action: "accept", content: { sure: "?" } })).rejects.toThrow(/refused.*boolean/);
    await first.answer({ action: "accept", content: { sure: true } });
    const said = { role: "assistant", model: "m", content: { type: "text", text: "hi" } };
    await second.answer(said);
    const third = await run.question();
    expect(third.method).toBe("roots/list");
    await third.answer({ roots: [] });
    expect(await run.returned).toEqual([[{ action: "accept", content: { sure: true } }, said], { roots: [] }]);
  });

  it("of a form in a Standard Schema are answered with what the schema makes of the content", async () => {
    const requestedSchema = z.object({ copies: z.number().int() });
    const run = await runTask(async (_args: object, ctx) => {
      const answer = await ctx.elicit({ message: "How many?", requestedSchema });
      return answer.action === "accept" ? answer.content.copies + 1 : 0;
    }, {});
    await (await run.question()).answer({ action: "accept", content: { copies: 2 } });
    expect(await run.returned).toBe(3);
  });

  it("that nobody answers are withdrawn in time, and on cancelling", async () => {
    const ask = (_args: object, ctx: ToolContext) =>
      ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM, timeoutMs: 60_000 });
    const late = await runTask(ask, {});
    await late.question();
    await late.clock.advance(60_000);
    await expect(late.returned).rejects.toMatchObject({ name: "QuestionWithdrawnError", reason: "timed_out" });
    const cancelled = await runTask(ask, {});
    await cancelled.question();
    await cancelled.cancel();
    await expect(cancelled.returned).rejects.toBeInstanceOf(QuestionWithdrawnError);
  });

  it("cannot be put to a client that declared nothing", async () => {
    const run = await runTask((_args: object, ctx) => sure(ctx), {}, { capabilities: {} });
    await expect(run.returned).rejects.toBeInstanceOf(QuestionRefusedError);
  });

  it("that never come are not waited for beyond the end", async () => {
    const run = await runTask(() => "done", {});
    await expect(run.question()).rejects.toThrow("ended completed without");
  });
});

it("the facts of the request, and the caller's first answers, are the test's to set", async () => {
  const run = await runTask(
    (_args: object, { request, answers }) => ({ request, answers }),
    {},
    {
      request: { owner: "ada", headers: { "x-team": "blue" }, principal: { subject: "ada" } },
      answers: { target: { action: "accept", content: { name: "staging" } } },
    },
  );
  const { request, answers } = await run.returned;
  expect(request).toMatchObject({ owner: "ada", headers: { "x-team": "blue" }, principal: { subject: "ada" } });
  expect(answers).toEqual({ target: { action: "accept", content: { name: "staging" } } });
});

it("an error that a handler leaves behind ends its task, as it does in a server", async () => {
  const run = await runTask(() => {
    setImmediate(() => {
      throw new Error("left behind");
    });
    return new Promise<never>(() => {});
  }, {});
  expect(await run.ended).toMatchObject({ status: "failed", outcome: { message: "left behind" } });
});
