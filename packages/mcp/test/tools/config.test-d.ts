/**
 * What the types of `registerTool` promise; compiled by `npm run check` and never run. A line under `@ts-expect-error` that
 * compiles is an error itself.
 */
import type { JsonObject, TaskHandle } from "@claimcheck/core";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/server";
import { type } from "arktype";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import type { Elicited, Tasks, ToolContext, ToolHandler } from "../../src/index.js";
import { runDirectly, runTask } from "../../src/testing/index.js";

declare const tasks: Tasks;
declare const server: McpServer;

// The arguments are what the input schema puts out: coerced, completed, transformed.

tasks.registerTool(
  server,
  "zod",
  {
    inputSchema: z.object({
      depth: z.coerce.number(),
      tool: z.string().default("spade"),
      deep: z.boolean().optional(),
    }),
  },
  (args) => {
    expectTypeOf(args).toEqualTypeOf<{ depth: number; tool: string; deep?: boolean | undefined }>();
  },
);

tasks.registerTool(
  server,
  "zod, transformed",
  { inputSchema: z.object({ year: z.string() }).transform(({ year }) => new Date(year)) },
  (args) => {
    expectTypeOf(args).toEqualTypeOf<Date>();
  },
);

tasks.registerTool(
  server,
  "arktype",
  { inputSchema: type({ depth: "string.numeric.parse", "tool?": "'spade' | 'pick'" }) },
  (args) => {
    expectTypeOf(args).toEqualTypeOf<{ depth: number; tool?: "spade" | "pick" }>();
  },
);

tasks.registerTool(server, "without a schema", {}, (args) => {
  expectTypeOf(args).toEqualTypeOf<Record<string, never>>();
});

// A configuration may be written down beforehand, and a handler be typed by its schema.

const config = { inputSchema: z.object({ depth: z.number() }), execution: { taskSupport: "optional" } } as const;
const handler: ToolHandler<typeof config.inputSchema> = ({ depth }) => depth.toFixed();
expectTypeOf(tasks.registerTool(server, "dig", config, handler)).toEqualTypeOf<RegisteredTool>();

// @ts-expect-error the handler wants arguments that the schema does not give
tasks.registerTool(server, "dig", config, (args: { width: number }) => args.width);

// @ts-expect-error no such argument
tasks.registerTool(server, "dig", config, ({ width }) => width);

// What it returns is what the output schema takes, where there is one.

const outputSchema = z.object({ feet: z.number(), tool: z.string().default("spade") });
tasks.registerTool(server, "structured", { outputSchema }, () => ({ feet: 3 }));
tasks.registerTool(server, "promised", { outputSchema }, async () => ({ feet: 3, tool: "pick" }));
tasks.registerTool(server, "whole", { outputSchema }, () => ({
  content: [{ type: "text", text: "three feet" }],
  structuredContent: { feet: 3 },
  _meta: { "vendor/x": 1 },
}));
tasks.registerTool(server, "an error", { outputSchema }, () => ({
  content: [{ type: "text", text: "rock" }],
  isError: true,
}));
tasks.registerTool(server, "throws", { outputSchema }, () => {
  throw new Error("rock");
});
tasks.registerTool(server, "either", { outputSchema }, (_args, ctx) =>
  ctx.task === null ? { isError: true, content: [] } : { feet: 3 },
);
tasks.registerTool(server, "arktype", { outputSchema: type({ feet: "number" }) }, () => ({ feet: 3 }));
// @ts-expect-error feet are a number
tasks.registerTool(server, "dig", { outputSchema }, () => ({ feet: "three" }));
// @ts-expect-error the same in a whole result
tasks.registerTool(server, "dig", { outputSchema }, async () => ({ structuredContent: { feet: "three" } }));
// @ts-expect-error text is no structure
tasks.registerTool(server, "dig", { outputSchema }, () => "three");
// @ts-expect-error nothing is none either
tasks.registerTool(server, "dig", { outputSchema }, () => {});
for (const returned of ["text", 1, null, undefined, [1], { any: "thing" }]) {
  tasks.registerTool(server, "without an output schema", {}, () => returned);
}

// The runner says what the handler is.

const command = ({ depth }: { depth: number }) => ({ argv: ["dig", `${depth}`] });
const work = { module: new URL("./dig.js", import.meta.url) };
const inputSchema = z.object({ depth: z.number() });
tasks.registerTool(server, "command", { inputSchema, execution: { runner: "subprocess" } }, command);
tasks.registerTool(server, "worker", { inputSchema, execution: { runner: "worker" } }, work);
// @ts-expect-error a worker is named, not handed over
tasks.registerTool(server, "dig", { inputSchema, execution: { runner: "worker" } }, command);
// @ts-expect-error a subprocess runs a command
tasks.registerTool(server, "dig", { inputSchema, execution: { runner: "subprocess" } }, work);
// @ts-expect-error a subprocess runs a command, no result
tasks.registerTool(server, "dig", { inputSchema, execution: { runner: "subprocess" } }, () => "dug");
// @ts-expect-error this event loop calls functions
tasks.registerTool(server, "dig", { inputSchema }, work);

// The context.

tasks.registerTool(server, "context", {}, async (_args, ctx) => {
  expectTypeOf(ctx).toEqualTypeOf<ToolContext>();
  expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
  expectTypeOf(ctx.task).toEqualTypeOf<TaskHandle | null>();
  expectTypeOf(ctx.request).toEqualTypeOf<JsonObject>();
  expectTypeOf(ctx.sendProgress(1, { total: 2, message: "half" })).toEqualTypeOf<boolean>();
  // @ts-expect-error there is no task on a direct call
  ctx.task.sendProgress(1);

  const form = await ctx.elicit({ message: "How deep?", requestedSchema: z.object({ depth: z.number() }) });
  expectTypeOf(form).toEqualTypeOf<Elicited<{ depth: number }>>();
  // @ts-expect-error only who accepted has filled in the form
  form.content;
  if (form.action === "accept") expectTypeOf(form.content).toEqualTypeOf<{ depth: number }>();

  const json = await ctx.elicit({ message: "How deep?", requestedSchema: { type: "object" } });
  expectTypeOf(json).toEqualTypeOf<Elicited<JsonObject>>();
  expectTypeOf(await ctx.elicit({ url: "https://example.com" })).toEqualTypeOf<{
    action: "accept" | "decline" | "cancel";
  }>();
  // @ts-expect-error a question is a form or a page
  await ctx.elicit({ message: "How deep?" });
});

tasks.registerTool(
  server,
  "asks first",
  {
    inputSchema: z.object({ site: z.string() }),
    askFirst: ({ site }, answers) => {
      expectTypeOf(site).toEqualTypeOf<string>();
      expectTypeOf(answers).toEqualTypeOf<Readonly<Record<string, JsonObject>>>();
      return { sure: { message: `Dig at ${site}?`, requestedSchema: { type: "object" } } };
    },
  },
  (_args, ctx) => {
    expectTypeOf(ctx.answers).toEqualTypeOf<Readonly<Record<string, JsonObject>>>();
  },
);

// What is misspelt or does not exist does not compile.

// @ts-expect-error
tasks.registerTool(server, "dig", { inputShema: z.object({}) }, () => {});
// @ts-expect-error
tasks.registerTool(server, "dig", { taskSupport: "optional" }, () => {});
// @ts-expect-error
tasks.registerTool(server, "dig", { execution: { taskSuport: "optional" } }, () => {});
// @ts-expect-error
tasks.registerTool(server, "dig", { execution: { taskSupport: "sometimes" } }, () => {});
// @ts-expect-error
tasks.registerTool(server, "dig", { execution: { runner: "thread" } }, () => {});
// @ts-expect-error
tasks.registerTool(server, "dig", { recovery: "forget" }, () => {});
// @ts-expect-error durations are numbers of milliseconds
tasks.registerTool(server, "dig", { maxRunMs: "10s" }, () => {});
// @ts-expect-error a schema, not its fields
tasks.registerTool(server, "dig", { inputSchema: { depth: z.number() } }, () => {});
// @ts-expect-error JSON Schema validates nothing by itself
tasks.registerTool(server, "dig", { inputSchema: { type: "object" } }, () => {});
// @ts-expect-error a tool without a handler
tasks.registerTool(server, "dig", {});

// The double takes the handler as it is, and gives back what it returns.

const feet = async ({ depth }: { depth: number }, ctx: ToolContext) => (ctx.task === null ? 0 : depth * 3);
expectTypeOf((await runTask(feet, { depth: 1 })).returned).toEqualTypeOf<Promise<number>>();
expectTypeOf(runDirectly(feet, { depth: 1 }).returned).toEqualTypeOf<Promise<number>>();
void runTask(handler, { depth: 1 }, { config });
// @ts-expect-error
void runTask(feet, { depth: "1" });

// The runner says what the handler is, and what resumes.

const depth = z.object({ depth: z.number() });
const module = new URL("./work.js", import.meta.url);

tasks.registerTool(server, "async", { inputSchema: depth, execution: { runner: "async" } }, ({ depth }) => depth);

tasks.registerTool(
  server,
  "subprocess",
  {
    inputSchema: depth,
    execution: { runner: "subprocess" },
    recovery: {
      resume: ({ depth }, _ctx, checkpoint) => {
        expectTypeOf(depth).toEqualTypeOf<number>();
        return { argv: ["dig", `${checkpoint}`] };
      },
    },
  },
  ({ depth }, ctx) => {
    expectTypeOf(depth).toEqualTypeOf<number>();
    expectTypeOf(ctx).toEqualTypeOf<ToolContext>();
    return { argv: ["dig", `${depth}`] };
  },
);

tasks.registerTool(
  server,
  "worker",
  { inputSchema: depth, execution: { runner: "worker" }, recovery: { resume: { module, export: "goOn" } } },
  { module, export: "dig" },
);

const counted = { outputSchema: z.object({ lines: z.number() }), execution: { runner: "subprocess" } } as const;

tasks.registerTool(server, "command with an output schema", counted, () => ({
  argv: ["ls"],
  result: ({ stdout }) => ({ lines: stdout.split("\n").length }),
}));

// @ts-expect-error nothing makes of the text what the output schema takes
tasks.registerTool(server, "wrong", counted, () => ({ argv: ["ls"] }));
tasks.registerTool(server, "wrong", counted, () => ({
  argv: ["ls"],
  // @ts-expect-error lines is a number
  result: ({ stdout }) => ({ lines: stdout }),
}));
// @ts-expect-error a thread cannot be handed a function
tasks.registerTool(server, "wrong", { execution: { runner: "worker" } }, () => "dug");
// @ts-expect-error a module needs the runner that takes it
tasks.registerTool(server, "wrong", {}, { module });
// @ts-expect-error what is returned is no command
tasks.registerTool(server, "wrong", { execution: { runner: "subprocess" } }, () => "ls");
// @ts-expect-error there is no such runner
tasks.registerTool(server, "wrong", { execution: { runner: "thread" } }, () => "dug");
// @ts-expect-error what a thread resumes with is a module, too
tasks.registerTool(server, "wrong", { execution: { runner: "worker" }, recovery: { resume: () => 1 } }, { module });
