/** The context double: a handler as a direct call, without any server. */
import { describe, expect, it } from "vitest";
import { QuestionRefusedError, QuestionWithdrawnError, type ToolContext } from "../../src/index.js";
import { runDirectly } from "../../src/testing/index.js";

const ask = (_args: object, ctx: ToolContext) =>
  ctx.elicit({ message: "Sure?", requestedSchema: { type: "object" }, timeoutMs: 1000 });

it("a handler has no task, and its outcome is what the caller gets", async () => {
  const run = runDirectly(({ name }: { name: string }, ctx) => `${name}: ${ctx.task}`, { name: "ada" });
  expect(await run.returned).toBe("ada: null");
  expect(await run.outcome).toEqual({ kind: "result", result: { content: [{ type: "text", text: "ada: null" }] } });
});

it("progress is seen, and the facts of the request are the test's to set", async () => {
  const run = runDirectly(
    (_args: object, ctx) => {
      ctx.sendProgress(1, { total: 3, message: "one" });
      return ctx.request.owner;
    },
    {},
    { request: { owner: "ada" } },
  );
  expect(await run.returned).toBe("ada");
  expect(run.progress).toEqual([{ current: 1, total: 3, message: "one" }]);
});

it("what is logged is seen, of every level", async () => {
  const run = runDirectly((_args: object, { log }) => [log("debug", { depth: 1 }, "spade"), log("error", "rock")], {});
  expect(await run.returned).toEqual([true, true]);
  expect(run.logged).toEqual([
    { level: "debug", data: { depth: 1 }, logger: "spade" },
    { level: "error", data: "rock" },
  ]);
});

it("cancelling fires signal and token", async () => {
  const run = runDirectly(async (_args: object, ctx) => [await ctx.cancelToken.wait(), ctx.signal.aborted], {});
  run.cancel();
  expect(await run.returned).toEqual([true, true]);
});

describe("questions", () => {
  it("are waited for and answered, one after another and several at once", async () => {
    const run = runDirectly(async (args: object, ctx) => {
      await ask(args, ctx);
      return Promise.all([ask(args, ctx), ctx.listRoots()]);
    }, {});
    await (await run.question()).answer({ action: "decline" });
    const [form, roots] = [await run.question(), await run.question()];
    await expect(roots.answer({ roots: 5 })).rejects.toThrow("refused");
    await roots.answer({ roots: [] });
    await form.answer({ action: "cancel" });
    expect(await run.returned).toEqual([{ action: "cancel" }, { roots: [] }]);
    await expect(run.question()).rejects.toThrow("ended without a further question");
  });

  it("are withdrawn in time, and on cancelling", async () => {
    const late = runDirectly(ask, {});
    await late.question();
    await late.clock.advance(1000);
    await expect(late.returned).rejects.toMatchObject({ reason: "timed_out" });
    const cancelled = runDirectly(ask, {});
    await cancelled.question();
    cancelled.cancel();
    await expect(cancelled.returned).rejects.toBeInstanceOf(QuestionWithdrawnError);
  });

  it("cannot be put to a client that declared nothing", async () => {
    await expect(runDirectly(ask, {}, { capabilities: {} }).returned).rejects.toBeInstanceOf(QuestionRefusedError);
  });
});
