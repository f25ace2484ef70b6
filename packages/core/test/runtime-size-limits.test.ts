import { isTaskError, type JsonObject, type JsonValue, type TaskHandle } from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/fixtures/refusal.js";
import { type Bench, type BenchOptions, done, HeldHandler, openRuntime, stoppable, taskOf } from "./kit/runtime.js";

/** A task that runs until the test is over, and what its handler has of it. */
async function running(
  over: BenchOptions = {},
): Promise<Bench & { taskId: string; task: TaskHandle; held: HeldHandler }> {
  const held = new HeldHandler();
  const bench = await openRuntime(held.handler, over);
  const { taskId } = await bench.start();
  await settle();
  return { ...bench, taskId, task: taskOf(held.contexts[0]), held };
}

const sized = (bytes: number): string => "x".repeat(bytes - 2);

describe("a checkpoint", () => {
  it("of the most that is kept is kept; of a byte more it is refused, and the task goes on with the one before", async () => {
    const { task, taskId, get, held } = await running({ maxCheckpointBytes: 100 });
    expect(await task.checkpoint(sized(100))).toBe(true);
    const before = await get(taskId);
    expect(await refusalOf(task.checkpoint(sized(101)))).toMatchObject({
      code: "too_large",
      message:
        "The checkpoint has 101 bytes as JSON; at most 100 are kept (maxCheckpointBytes). The one before it stays. Keep what says where to go on, or raise the limit.",
      data: { bytes: 101, limit: "maxCheckpointBytes", max: 100 },
    });
    expect(await get(taskId)).toEqual(before);
    expect(await task.checkpoint({ at: 2 })).toBe(true);
    expect(await get(taskId)).toMatchObject({ status: "working", checkpoint: { at: 2 } });
    held.end();
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "completed" });
  });

  it("is counted in bytes, not in characters", async () => {
    const { task } = await running({ maxCheckpointBytes: 100 });
    expect(await refusalOf(task.checkpoint("ü".repeat(60)))).toMatchObject({ data: { bytes: 122 } });
  });

  it("may have a MiB unless something else is set", async () => {
    const { task } = await running();
    expect(await task.checkpoint(sized(1024 * 1024))).toBe(true);
    expect((await refusalOf(task.checkpoint(sized(1024 * 1024 + 1)))).code).toBe("too_large");
    const without = await running({ maxCheckpointBytes: Number.POSITIVE_INFINITY });
    expect(await without.task.checkpoint(sized(1024 * 1024 + 1))).toBe(true);
  });

  it("that JSON cannot carry is refused, and the one before stays", async () => {
    const { task, taskId, get } = await running();
    await task.checkpoint({ at: 1 });
    const circle: JsonObject = {};
    circle.self = circle;
    await expect(task.checkpoint(circle)).rejects.toThrow(/^The checkpoint cannot be written as JSON: /);
    await expect(task.checkpoint(1n as unknown as JsonValue)).rejects.toThrow(TypeError);
    expect(await get(taskId)).toMatchObject({ status: "working", checkpoint: { at: 1 } });
  });
});

describe("questions", () => {
  const ask = (message: string) => ({ method: "elicitation/create", params: { message } });

  it("beyond the most that one task keeps are refused; the task goes on, and may ask for less", async () => {
    const { task, taskId, get } = await running({ maxQuestionsBytes: 500 });
    const before = await get(taskId);
    const { code, message, data } = await refusalOf(task.ask(ask(sized(600))));
    expect(code).toBe("too_large");
    expect(message).toMatch(
      /^With this question .* have \d+ bytes as JSON; at most 500 are kept \(maxQuestionsBytes\)\./,
    );
    expect(data).toMatchObject({ limit: "maxQuestionsBytes", max: 500 });
    expect(await get(taskId)).toEqual(before);
    void task.ask(ask("short")).catch(() => {});
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "input_required", questions: [ask("short")] });
  });

  it("that are asked at once are counted together", async () => {
    const { task, taskId, get } = await running({ maxQuestionsBytes: 1000 });
    const refused: unknown[] = [];
    for (let n = 0; n < 50; n += 1) void task.ask(ask(`${n}`)).catch((error: unknown) => refused.push(error));
    await settle();
    const kept = (await get(taskId))?.questions ?? [];
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(1000);
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.length + refused.length).toBe(50);
    expect(refused.every((error) => isTaskError(error) && error.code === "too_large")).toBe(true);
  });

  it("stay open when an answer is too large, and take a shorter one", async () => {
    const { task, taskId, get, runtime } = await running({ maxQuestionsBytes: 500 });
    const answered = task.ask(ask("Which?"));
    await settle();
    const before = await get(taskId);
    const key = before?.questions[0]?.key ?? "";
    expect(await refusalOf(runtime.answer("alice", taskId, key, { text: sized(500) }))).toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/^With this answer .*maxQuestionsBytes.* The question stays open/),
      data: { limit: "maxQuestionsBytes", max: 500 },
    });
    expect(await get(taskId)).toEqual(before);
    expect(await runtime.answer("alice", taskId, key, { text: "that" })).toBe("accepted");
    expect(await answered).toEqual({ text: "that" });
  });

  it("that would leave no room for an answer are refused, and those that are asked can all be declined", async () => {
    const declined = { action: "decline" };
    for (let size = 400; size < 1000; size += 7) {
      const { task, taskId, get, runtime } = await running({ maxQuestionsBytes: 1200 });
      const asking = [ask("Which?"), ask(sized(size))].map((question) => task.ask(question).catch(({ code }) => code));
      await settle();
      const { questions = [] } = (await get(taskId)) ?? {};
      const [first, second] = questions;
      // The first answer may be as long as it leaves the second question its room.
      const long = { text: sized(200) };
      await runtime.answer("alice", taskId, first?.key ?? "", long).catch(() => {});
      for (const { key } of questions) await runtime.answer("alice", taskId, key, declined);
      expect(await get(taskId)).toMatchObject({ status: "working" });
      expect(await Promise.all(asking)).toEqual([expect.anything(), second === undefined ? "too_large" : declined]);
    }
  });

  it("are refused an answer exactly when the record with it would have too many bytes", async () => {
    for (const length of Array.from({ length: 40 }, (_, n) => n)) {
      const { task, taskId, get, runtime } = await running({ maxQuestionsBytes: 400 });
      void task.ask(ask("Which?")).catch(() => {});
      await settle();
      const [question] = (await get(taskId))?.questions ?? [];
      const answer = { text: "x".repeat(length + 230) };
      const fits = JSON.stringify([{ ...question, answer }]).length <= 400;
      const given = await runtime.answer("alice", taskId, question?.key ?? "", answer).catch((error) => error.code);
      expect(given).toBe(fits ? "accepted" : "too_large");
    }
  });
});

describe("what is kept of a request", () => {
  it("is refused beyond its limit: nothing runs, and the key stays free", async () => {
    const held = new HeldHandler();
    const { start, runtime } = await openRuntime(held.handler, { maxKeptRequestBytes: 100 });
    const request = { clientInfo: { name: sized(200), version: "1" } };
    expect(await refusalOf(start({ request, idempotencyKey: "a" }))).toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/^What is kept of the request .* has 2\d\d bytes as JSON; at most 100 are kept/),
      data: { limit: "maxKeptRequestBytes", max: 100 },
    });
    expect(held.contexts).toHaveLength(0);
    expect(runtime.gauges.attempts).toBe(0);
    const { taskId } = await start({ request: { clientInfo: { name: "a" } }, idempotencyKey: "a" });
    await settle();
    expect((await runtime.get("alice", taskId))?.idempotencyKey).toBe("a");
    held.end();
  });

  it("may have 256 KiB unless something else is set", async () => {
    const { start } = await openRuntime(done);
    const request = (bytes: number): JsonObject => ({ a: sized(bytes - 6) });
    await start({ request: request(256 * 1024) });
    expect((await refusalOf(start({ request: request(256 * 1024 + 1) }))).data).toMatchObject({
      bytes: 256 * 1024 + 1,
    });
  });
});

it("what a failed interrupt says is kept up to a thousand characters", async () => {
  const { start, get, runtime } = await openRuntime((args, context) => {
    taskOf(context).registerInterrupt(() => {
      throw new Error("x".repeat(100_000));
    });
    return stoppable(args, context);
  });
  const { taskId } = await start();
  await settle();
  await runtime.cancel("alice", taskId);
  const { cancellation } = (await get(taskId)) ?? {};
  expect(cancellation?.error).toMatch(/^Error: x{900,}…$/);
  expect(cancellation?.error?.length).toBe(1000);
});
