/** One handler, two paths: what the direct call answers is what the task's result is. */
import type { JsonObject } from "@claimcheck/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { OPTIONAL, scene } from "./servers.js";

const RELATED = "io.modelcontextprotocol/related-task";

function withoutRelated(result: JsonObject): JsonObject {
  const { [RELATED]: _related, ...meta } = (result._meta ?? {}) as JsonObject;
  const { _meta, ...rest } = result;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
}

async function onBothPaths(handler: (args: unknown) => unknown, config: object = {}, args: unknown = {}) {
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", { ...OPTIONAL, ...config }, handler));
  const client = await connect();
  const direct = await client.call("dig", { arguments: args });
  const { taskId } = await client.callTask("dig", { arguments: args });
  return { direct, asTask: await client.request("tasks/result", { taskId }) };
}

it.each([
  ["a string", () => "dug"],
  ["an empty string", () => ""],
  ["nothing", () => undefined],
  ["null", () => null],
  ["a number", () => 7],
  ["a boolean", () => false],
  ["an object", () => ({ feet: 3, nested: { nothing: null } })],
  ["an array", () => [1, { a: 2 }]],
  ["content blocks", () => [{ type: "text", text: "a" }]],
  [
    "a whole result",
    () => ({ content: [{ type: "text", text: "a" }], _meta: { "v/x": 1 }, structuredContent: { a: 1 } }),
  ],
  ["a result with a member named task", () => ({ structuredContent: { task: { taskId: "mine" } } })],
  ["an isError result", () => ({ content: [{ type: "text", text: "rock" }], isError: true })],
  ["an invalid result", () => ({ content: [{ type: "text" }] })],
  ["a function", () => () => {}],
  ["a throw", () => Promise.reject(new Error("rock"))],
  ["a throw of nothing", () => Promise.reject(undefined)],
])("%s is the same on both", async (_what, handler) => {
  const { direct, asTask } = await onBothPaths(handler as () => unknown);
  expect(withoutRelated(asTask.result as JsonObject)).toEqual(direct.result);
});

it.each([() => ({ feet: 3 }), () => ({ feet: "three" }), () => "dug", () => ({ content: [], isError: true })])(
  "the output schema is held on both",
  async (handler) => {
    const { direct, asTask } = await onBothPaths(handler, { outputSchema: z.object({ feet: z.number() }) });
    expect(withoutRelated(asTask.result as JsonObject)).toEqual(direct.result);
  },
);

it("the arguments are validated once, and both see what the schema made of them", async () => {
  let validations = 0;
  const inputSchema = z
    .object({ depth: z.coerce.number(), tool: z.string().default("spade") })
    .refine(() => ++validations > 0)
    .transform(({ depth, tool }) => ({ feet: depth * 3, tool }));
  const { direct, asTask } = await onBothPaths((args) => args as object, { inputSchema }, { depth: "2", stray: true });
  expect(direct.result?.structuredContent).toEqual({ feet: 6, tool: "spade" });
  expect(asTask.result?.structuredContent).toEqual({ feet: 6, tool: "spade" });
  expect(validations).toBe(2);
});
