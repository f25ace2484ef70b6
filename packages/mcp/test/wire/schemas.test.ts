/** Schemas of two libraries, in every dialect: what they make of the arguments is made once, before there is a task, on both paths alike. */
import type { JsonObject } from "@claimcheck/core";
import { McpServer, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { type } from "arktype";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createTasks } from "../../src/index.js";
import { AnsweredWithoutTask, connectInMemory, DIALECTS, type TaskClient } from "../../src/testing/index.js";
import { defaults, OPTIONAL, silent } from "./servers.js";

/** A depth that comes as text or number, a tool with a default, and what becomes of them. Counts how often it is asked. */
function digging(library: "zod" | "arktype"): {
  inputSchema: StandardSchemaWithJSON;
  outputSchema: StandardSchemaWithJSON;
  asked: () => number;
} {
  let asked = 0;
  const toFeet = ({ depth, tool }: { depth: number; tool: string }) => {
    asked += 1;
    return { feet: depth * 3, tool };
  };
  if (library === "zod") {
    const fields = { depth: z.coerce.number().positive(), tool: z.string().default("spade") };
    const inputSchema = z.object(fields).transform(toFeet);
    return { inputSchema, outputSchema: z.object({ feet: z.number().max(9) }), asked: () => asked };
  }
  const fields = type({ depth: "string.numeric.parse | number > 0", tool: "string = 'spade'" });
  return { inputSchema: fields.pipe(toFeet), outputSchema: type({ feet: "number <= 9" }), asked: () => asked };
}

describe.each(DIALECTS)("%s", (dialect) => {
  async function serving(config: object, handler: (args: unknown) => unknown): Promise<TaskClient> {
    const tasks = createTasks({ logger: silent, ...defaults });
    onTestFinished(() => tasks.close());
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(server, "dig", { ...OPTIONAL, ...config }, handler);
    const client = await connectInMemory(tasks, server, { dialect });
    onTestFinished(() => client.close());
    return client;
  }

  /** What the caller is told on each path: the result without what only tasks have, or why there is none. */
  async function onBothPaths(client: TaskClient, args: JsonObject): Promise<[direct: unknown, asTask: unknown]> {
    const direct = await client.call("dig", args).then(told, refused);
    const created = client.create("dig", args);
    return [direct, await created.then(({ taskId }) => client.result(taskId)).then(told, refused)];
  }

  describe.each(["zod", "arktype"] as const)("%s", (library) => {
    it("arguments are coerced, completed and transformed, once for each call", async () => {
      const { inputSchema, asked } = digging(library);
      const client = await serving({ inputSchema }, (args) => args);
      const [direct, asTask] = await onBothPaths(client, { depth: "2" });
      expect(direct).toMatchObject({ structuredContent: { feet: 6, tool: "spade" } });
      expect(asTask).toEqual(direct);
      expect(asked()).toBe(2);
    });

    it("what the schema refuses never runs, is no task, and is refused in the same words", async () => {
      let runs = 0;
      const client = await serving({ inputSchema: digging(library).inputSchema }, () => (runs += 1));
      for (const args of [{}, { depth: "deep" }, { depth: {} }, { depth: 1, tool: 7 }]) {
        const [direct, asTask] = await onBothPaths(client, args);
        expect(textOf(direct)).toContain("Invalid arguments for tool dig");
        expect(textOf(asTask)).toBe(textOf(direct));
      }
      expect(runs).toBe(0);
      if (dialect === "2025-11-25") expect(await client.list()).toEqual({ tasks: [] });
    });

    it("the output schema lets through what fits, and says the same of what does not", async () => {
      const { inputSchema, outputSchema } = digging(library);
      const client = await serving({ inputSchema, outputSchema }, (args) => ({
        feet: (args as { feet: number }).feet,
      }));
      const [fits, fitsAsTask] = await onBothPaths(client, { depth: 3 });
      expect(fits).toMatchObject({ structuredContent: { feet: 9 } });
      expect(fitsAsTask).toEqual(fits);
      const [tooDeep, tooDeepAsTask] = await onBothPaths(client, { depth: 4 });
      expect(textOf(tooDeep)).toContain("Output validation error");
      expect(textOf(tooDeepAsTask)).toBe(textOf(tooDeep));
    });

    it("tools/list describes both as JSON Schema", async () => {
      const { inputSchema, outputSchema } = digging(library);
      const client = await serving({ inputSchema, outputSchema }, () => ({ feet: 1 }));
      const { result } = await client.request("tools/list");
      expect(result?.tools).toMatchObject([
        {
          inputSchema: {
            type: "object",
            properties: { tool: { type: "string" } },
            required: ["depth"],
          },
          outputSchema: { type: "object", properties: { feet: { type: "number", maximum: 9 } } },
        },
      ]);
    });
  });

  it("a refinement that takes its time is waited for, on both paths", async () => {
    const inputSchema = z.object({ site: z.string() }).refine(
      async ({ site }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return site !== "lake";
      },
      { error: "no digging in a lake" },
    );
    const client = await serving({ inputSchema }, (args) => (args as { site: string }).site);
    expect(await onBothPaths(client, { site: "hill" })).toEqual(
      Array(2).fill({ content: [{ type: "text", text: "hill" }] }),
    );
    const [direct, asTask] = await onBothPaths(client, { site: "lake" });
    expect(textOf(direct)).toContain("no digging in a lake");
    expect(textOf(asTask)).toBe(textOf(direct));
  });

  it("a schema that throws refuses the call, and the server lives", async () => {
    const inputSchema = z.object({ depth: z.number() }).transform((): { feet: number } => {
      throw new Error("the schema broke");
    });
    const client = await serving({ inputSchema }, () => "dug");
    const [direct, asTask] = await onBothPaths(client, { depth: 1 });
    expect(textOf(direct)).toContain("the schema broke");
    expect(textOf(asTask)).toBe(textOf(direct));
    expect((await client.request("tools/list")).error).toBeUndefined();
  });
});

/** A result without what only tasks have, or only a revision. */
function told({ _meta, resultType, ...result }: Record<string, unknown>): unknown {
  return result;
}

function refused(error: Error): unknown {
  if (error instanceof AnsweredWithoutTask) return told(error.result);
  return { content: [{ type: "text", text: error.message }] };
}

function textOf(answer: unknown): string {
  return (answer as { content: { text: string }[] }).content[0]?.text ?? "";
}
