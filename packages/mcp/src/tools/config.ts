/** How a tool is declared. */
import type { JsonValue, ToolRecovery } from "@claimcheck/core";
import type { CallToolResult, Icon, StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import type { TaskSupport } from "../dialects/dialect.js";
import type { AskFirst } from "../questions/ask-first.js";
import type { ToolContext } from "../questions/tool-context.js";
import type { Command, CommandEnd } from "../runners/command.js";

export interface ToolConfig<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
  Runner extends RunnerName = "async",
> {
  title?: string;
  description?: string;
  /** A zod 4 object, or any Standard Schema that can describe itself as JSON Schema. Arguments are validated once, before a task exists. */
  inputSchema?: Input;
  /** What `structuredContent` is checked against, on both paths alike. */
  outputSchema?: Output;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  /**
   * `taskSupport` defaults to `"forbidden"`; only it is shown to clients. `runner` says where the work is done, and with it
   * what the tool's handler must be: `"async"` (the default) calls a {@link ToolHandler} on this event loop, `"worker"` calls
   * one that a {@link WorkerModule} names in a worker thread, `"subprocess"` runs the commands that a {@link CommandHandler}
   * makes.
   */
  execution?: { taskSupport?: TaskSupport; runner?: Runner };
  /**
   * What a host may hand to its model as the call's answer while the task runs, such as "Digging; the result will follow."
   * Told with the claim check of 2025-era clients (2025-11-25, "Model Immediate Response"). Default: nothing.
   */
  immediateResponse?: string | ((args: ToolArguments<Input>) => string);
  /** What becomes of a task whose process died, and of one that threw what a later try may not. Default `"fail"`. */
  recovery?: ToolRecovery<ResumeHandlers<Input, Output>[Runner]>;
  /** How long a task of this tool may run, ms. Default: without limit. */
  maxRunMs?: number;
  /** How long a finished task is kept when the caller does not say, ms. Default: the runtime's. */
  ttl?: number;
  /** How often clients are asked to poll, ms. Default: the dialect's. */
  pollInterval?: number;
  /** How long cancelling waits for the work to stop, ms. Default: the runtime's. */
  cancelGraceMs?: number;
  /**
   * How long a caller of protocol revision 2026-07-28 is kept waiting for work that may be quick, ms: what is done by then
   * is answered with its plain result, the rest with a task. Default 0.
   */
  inlineMs?: number;
  /**
   * How long a direct call may take, ms, before it is answered with what it has produced so far and the id of a task as
   * which it goes on: for clients that know no tasks, and would give up on the call. Needs `taskSupport: "optional"`, and
   * the tools to collect it by (`createTasks({ fallbackTools: true })`); the call is a task from its start. Not
   * {@link inlineMs}, which delays an answer for clients that know tasks: that is short, this is a little less than a client
   * waits. Default: direct calls run to their end.
   */
  promoteAfterMs?: number;
  /**
   * What to ask the caller before the work begins; the handler finds the answers in `ctx.answers` under the same names.
   * Called with the arguments and the answers so far, and again until it has nothing more to ask, so it must not do any
   * work. On 2026-07-28 these questions come before the task exists; elsewhere the call, or the task, asks them first.
   */
  askFirst?: AskFirst<ToolArguments<Input>>;
}

/** The handler's arguments: what the input schema puts out, or an empty object. */
export type ToolArguments<Input extends StandardSchemaWithJSON | undefined> = Input extends StandardSchemaWithJSON
  ? StandardSchemaWithJSON.InferOutput<Input>
  : Record<string, never>;

/**
 * What a handler may return: anything, or with an output schema what that takes, by itself or in a whole result. Promised
 * or at once.
 */
export type ToolReturn<Output extends StandardSchemaWithJSON | undefined> = Output extends StandardSchemaWithJSON
  ? Awaitable<StructuredReturn<StandardSchemaWithJSON.InferInput<Output>>>
  : unknown;

type Awaitable<T> = T | Promise<T>;
type StructuredReturn<Structure> = Structure | WholeResult<Structure> | ErrorResult;
type WholeResult<Structure> = { structuredContent: Structure; isError?: false } & Partial<CallToolResult>;
/** Need not fit the output schema. */
type ErrorResult = { isError: true } & Partial<CallToolResult>;

/**
 * The tool itself; one function for direct calls and for tasks in every dialect. What it returns:
 *
 * - an object with `content`, `structuredContent` or `isError`: a whole MCP result, preserved as it is;
 * - a string: one text block; an array: one text block with its JSON; another object: `structuredContent`, and a text block with its JSON;
 * - a number or boolean: one text block; `undefined` or `null`: no content.
 *
 * A throw becomes an `isError` result with the error's message. A `ProtocolError` of the SDK is raised to the caller as it is.
 */
export type ToolHandler<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
> = (args: ToolArguments<Input>, ctx: ToolContext) => ToolReturn<Output>;

/**
 * Goes on with a task whose process died or shut down, in place of the handler: with the same arguments, and the last value
 * that was kept by `ctx.task.checkpoint`; `undefined` where none was. What it returns and throws means what it means there.
 */
export type ResumeHandler<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
> = (args: ToolArguments<Input>, ctx: ToolContext, checkpoint: JsonValue | undefined) => ToolReturn<Output>;

/**
 * Names the handler of a `"worker"` tool, a {@link ToolHandler}: a thread can be handed a module, and no function. The
 * arguments must be what a structured clone can carry; what the handler returns becomes JSON in the thread.
 */
export interface WorkerModule {
  /** A `file:` URL, such as `new URL("./work.js", import.meta.url)`. */
  module: URL | string;
  /** The export that is called. Default: `"default"`. */
  export?: string;
}

/** The handler of a `"subprocess"` tool: says what to run. It has the context of any handler, to ask somebody first for example. */
export type CommandHandler<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
> = (args: ToolArguments<Input>, ctx: ToolContext) => Awaitable<CommandFor<Output>>;

/** What a command prints is text; with an output schema it must say how it is made what that takes. */
export type CommandFor<Output extends StandardSchemaWithJSON | undefined> = Output extends StandardSchemaWithJSON
  ? Command & { result: (end: CommandEnd) => ToolReturn<Output> }
  : Command;

/** Where a tool's work is done → what its handler must be. */
export interface RunnerHandlers<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
> {
  async: ToolHandler<Input, Output>;
  worker: WorkerModule;
  subprocess: CommandHandler<Input, Output>;
}

/** Where a tool's work is done → what goes on with it in another process ({@link ToolConfig.recovery}). */
export interface ResumeHandlers<
  Input extends StandardSchemaWithJSON | undefined = undefined,
  Output extends StandardSchemaWithJSON | undefined = undefined,
> {
  async: ResumeHandler<Input, Output>;
  /** Called with the last checkpoint as its third argument. */
  worker: WorkerModule;
  subprocess: (...call: Parameters<ResumeHandler<Input>>) => Awaitable<CommandFor<Output>>;
}

export type RunnerName = keyof RunnerHandlers;

/** A declaration whose types have done their work. */
export type AnyToolConfig = Omit<
  ToolConfig<StandardSchemaWithJSON | undefined, StandardSchemaWithJSON | undefined, RunnerName>,
  "recovery"
> & { recovery?: ToolRecovery<AnyToolHandler> };

/** The members that clients are shown. */
export type ShownConfig = Pick<
  AnyToolConfig,
  "title" | "description" | "inputSchema" | "outputSchema" | "annotations" | "icons" | "_meta"
>;

/** A handler whose types have done their work; one that resumes has the last checkpoint as its third argument. */
export type AnyToolHandler = (args: unknown, ctx: ToolContext, checkpoint?: JsonValue) => unknown;
