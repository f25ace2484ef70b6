/** Handlers that the tests of worker threads name. */
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread, threadId } from "node:worker_threads";
import {
  HandedOverError,
  QuestionRefusedError,
  RetryableError,
  recordOutput,
  registerInterrupt,
} from "@claimcheck/mcp";
import { ProtocolError } from "@modelcontextprotocol/server";

export const where = () => ({ isMainThread, threadId });

/** Takes the processor, and gives nobody a turn. */
export function spin({ ms = 60_000 }, ctx) {
  ctx.sendProgress(1, { message: "ready" });
  const until = Date.now() + ms;
  while (Date.now() < until);
  return "spun";
}

export const spinBriefly = (_args, ctx) => spin({ ms: 1 }, ctx);

export function recordThenSpin(_args, ctx) {
  ctx.task?.recordOutput(["half"]);
  ctx.sendProgress(1, { message: "half" });
  for (;;);
}

export function logs(_args, { log }) {
  return [log("info", { depth: 1 }, "spade"), log("error", "rock"), log("info", () => {}), log("info", 1n)];
}

export function spinUntilCancelled(_args, ctx) {
  ctx.sendProgress(1, { message: "ready" });
  while (!ctx.cancelToken.isCancelled());
  ctx.cancelToken.checkCancelled();
}

export function spinUntilAborted(_args, ctx) {
  ctx.sendProgress(1, { message: "ready" });
  while (!ctx.signal.aborted);
  throw ctx.signal.reason;
}

export async function untilCancelled(_args, ctx) {
  ctx.sendProgress(1, { message: "ready" });
  await ctx.cancelToken.wait();
  ctx.cancelToken.checkCancelled();
}

export function give({ what }) {
  return RETURNS[what]();
}

export const RETURNS = {
  "a string": () => "dug",
  nothing: () => undefined,
  null: () => null,
  "a number": () => 7,
  "a big integer": () => 7n,
  "a boolean": () => false,
  "an object": () => ({ feet: 3, nested: { nothing: null, left: undefined, skip() {} } }),
  "an array": () => [1, { a: 2 }],
  "a date": () => new Date(0),
  "content blocks": () => [{ type: "text", text: "a" }],
  "a whole result": () => ({
    content: [{ type: "text", text: "a" }],
    _meta: { "v/x": 1 },
    structuredContent: { a: 1 },
  }),
  "an isError result": () => ({ content: [{ type: "text", text: "rock" }], isError: true }),
  "an invalid result": () => ({ content: [{ type: "text" }] }),
  "an interim result": () => ({ resultType: "input_required" }),
  "a function": () => () => {},
  "a symbol": () => Symbol("rock"),
  "a circle": () => {
    const circle = {};
    circle.self = circle;
    return circle;
  },
  "a throw": () => {
    throw new TypeError("rock");
  },
  "a rejection": () => Promise.reject(new Error("rock")),
  "a throw of nothing": () => Promise.reject(undefined),
  "a throw of a text": () => {
    throw "rock";
  },
  "a throw of an object": () => {
    throw { rock: true };
  },
  "a protocol error": () => {
    throw new ProtocolError(-32602, "no such repo", { repo: "x" });
  },
};

/** Says what no type allows. */
export async function misspeak({ what }, ctx) {
  MISSPOKEN[what](ctx);
  await pause(50);
  return "unharmed";
}

export const MISSPOKEN = {
  "a message that is no text": (ctx) => ctx.sendProgress(1, { message: 5 }),
  "progress without options": (ctx) => ctx.sendProgress(1, null),
};

/** What cannot be sent is said more often than messages may wait. */
export function sayUncloneable(_args, ctx) {
  for (let i = 0; i < 100; i += 1) {
    try {
      ctx.task?.recordOutput([() => "clay"]);
    } catch {
      // It goes on as if it had not been said.
    }
  }
  ctx.task?.recordOutput(["clay"]);
  return "dug";
}

export async function report({ steps }, ctx) {
  for (let step = 1; step <= steps; step += 1) {
    ctx.sendProgress(step, { total: steps, message: `step ${step}` });
    await pause(1);
  }
  return "reported";
}

export function flood({ times }, ctx) {
  const lines = [];
  for (let at = 1; at <= times; at += 1) {
    lines.push(`line ${at}`);
    ctx.task?.recordOutput(lines);
    ctx.sendProgress(at);
  }
  ctx.sendProgress(times + 1, { message: "flooded" });
  if (ctx.task === null) return "flooded";
  for (;;);
}

/** Writes into what it has said long ago, of a list that is long, and says it at once. */
export async function rewrite(_args, ctx) {
  const lines = Array.from({ length: 5000 }, (_, at) => ({ type: "text", text: `line ${at}` }));
  ctx.task.recordOutput(lines);
  lines[0].text = "rewritten";
  ctx.task.recordOutput(lines);
  await ctx.cancelToken.wait();
}

export function ambient() {
  return { recorded: recordOutput(["ambient"]), registered: registerInterrupt(() => {}) };
}

export function context(_args, ctx) {
  const { owner, clientInfo } = ctx.request;
  return { owner, clientInfo, answers: ctx.answers, input: ctx.input, isTask: ctx.task !== null };
}

export const kinds = (args) => ({ date: args.when instanceof Date, map: args.map instanceof Map });

export async function ask(_args, ctx) {
  try {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    return await ctx.elicit({ message: "Who?", requestedSchema });
  } catch (error) {
    return `${error instanceof QuestionRefusedError}: ${error.message}`;
  }
}

export async function say(_args, ctx) {
  const said = [await ctx.task.requireInput("Look at this."), await ctx.task.setWorking("Going on.")];
  return { said, kept: await ctx.task.checkpoint({ at: 1 }) };
}

export function keepTooMuch(_args, ctx) {
  return ctx.task.checkpoint("x".repeat(2 ** 21)).catch(({ name, code, data }) => ({ name, code, data }));
}

export async function interrupted({ file }, ctx) {
  const { appendFileSync } = await import("node:fs");
  const write = (text) => appendFileSync(file, text);
  ctx.task.registerInterrupt(() => write("stop "), { escalate: () => write("escalate ") });
  ctx.task.registerInterrupt(() => {
    throw new Error("deaf");
  });
  ctx.sendProgress(1, { message: "ready" });
  await new Promise(() => setInterval(() => {}, 1000));
}

/** Works until its task goes on elsewhere. */
export async function untilHandedOver({ file }, ctx) {
  const { writeFileSync } = await import("node:fs");
  await ctx.task.checkpoint({ at: 1 });
  await ctx.cancelToken.wait();
  writeFileSync(file, String(ctx.signal.reason instanceof HandedOverError));
  ctx.cancelToken.checkCancelled();
}

export const goOn = (_args, ctx, checkpoint) => ({ checkpoint, taskId: ctx.task.taskId });

const tries = new Int32Array(new SharedArrayBuffer(4));

export function failOnce() {
  if (Atomics.add(tries, 0, 1) === 0) throw new RetryableError("not yet", { retryAfterMs: 1 });
  return "dug";
}

export const exit = () => process.exit(3);

/** Leaves behind what takes the thread as soon as it has answered, and then ends it. */
export function exitLater({ ms }) {
  setImmediate(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    process.exit(3);
  });
  return "left";
}

export function eat() {
  const eaten = [];
  for (;;) eaten.push(new Array(1000).fill({}));
}

export async function throwFromTimer() {
  setTimeout(() => {
    throw new Error("from a timer");
  }, 5);
  await new Promise(() => setInterval(() => {}, 1000));
}

export async function rejectUnheard() {
  void Promise.reject(new Error("unheard"));
  await new Promise(() => setInterval(() => {}, 1000));
}

export function throwLater({ ms }) {
  setTimeout(() => {
    throw new Error("left behind");
  }, ms);
  return threadId;
}

export async function wait({ ms }) {
  await pause(ms);
  return threadId;
}

export function print() {
  process.stdout.write("written by a worker\n");
}

export const notAFunction = 7;
