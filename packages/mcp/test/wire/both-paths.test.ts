/** One handler, two paths, every dialect: what the direct call answers is what the task's result is. */
import type { JsonObject } from "@claimcheck/core";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createTasks, type TasksOptions } from "../../src/index.js";
import { connectInMemory, DIALECTS, type TaskClient } from "../../src/testing/index.js";
import { defaults, OPTIONAL, silent } from "./servers.js";

describe.each(DIALECTS)("%s", (dialect) => {
  async function digging(
    handler: (args: unknown) => unknown,
    config: object = {},
    options: TasksOptions = {},
  ): Promise<TaskClient> {
    const tasks = createTasks({ logger: silent, ...defaults, ...options });
    onTestFinished(() => tasks.close());
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(server, "dig", { ...OPTIONAL, ...config }, handler);
    const client = await connectInMemory(tasks, server, { dialect });
    onTestFinished(() => client.close());
    return client;
  }

  /** What each path answers, without what only tasks have, or only a revision. */
  async function onBothPaths(client: TaskClient, args: JsonObject = {}) {
    const direct = told(await client.call("dig", args));
    const { taskId } = await client.create("dig", args);
    return { direct, asTask: await client.result(taskId).then(told, raised) };
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
    const { direct, asTask } = await onBothPaths(await digging(handler as () => unknown));
    expect(asTask).toEqual(direct);
  });

  it.each([() => ({ feet: 3 }), () => ({ feet: "three" }), () => "dug", () => ({ content: [], isError: true })])(
    "the output schema is held on both",
    async (handler) => {
      const outputSchema = z.object({ feet: z.number() });
      const { direct, asTask } = await onBothPaths(await digging(handler, { outputSchema }));
      expect(asTask).toEqual(direct);
    },
  );

  it("masked, no word of an unexpected error reaches the client, in answers or notifications", async () => {
    const throwing = () => Promise.reject(new Error("password=hunter2 at /srv/x"));
    const client = await digging(throwing, {}, { maskErrors: true });
    const { direct, asTask } = await onBothPaths(client);
    expect(direct).toEqual({
      content: [{ type: "text", text: "The tool failed with an internal error." }],
      isError: true,
    });
    expect(asTask).toEqual(direct);
    expect(JSON.stringify(client.raw.log)).not.toMatch(/hunter2|srv/);
  });
});

function told({ _meta, resultType, ...rest }: Record<string, unknown>): JsonObject {
  const {
    "io.modelcontextprotocol/related-task": _task,
    "io.modelcontextprotocol/serverInfo": _server,
    ...meta
  } = (_meta ?? {}) as JsonObject;
  return (Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest) as JsonObject;
}

/** Our own contract raises what a tool threw; the words are those of the direct call. */
function raised({ message }: Error): JsonObject {
  return { content: [{ type: "text", text: message }], isError: true };
}
