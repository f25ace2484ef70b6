/** One tool of ours: declared once, run the same way by a direct call, by a task, and by whoever takes a task over. */
import {
  assertRecovery,
  describeError,
  directContext,
  type HandlerOutcome,
  type JsonObject,
  type Log,
  type Outcome,
  type SendProgress,
  type ToolContext,
  type ToolDefinition,
  type ToolRecovery,
  textOfThrown,
} from "@claimcheck/core";
import type { StandardSchemaV1, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { TaskSupport } from "../dialects/dialect.js";
import { type Answers, type AskFirst, askAll, NO_ANSWERS } from "../questions/ask-first.js";
import { type Asker, taskAsker } from "../questions/asker.js";
import { HandlerContext } from "../questions/tool-context.js";
import { asObject } from "../wire/request.js";
import type { AnyToolConfig, AnyToolHandler } from "./config.js";
import { describeIssues, type OutcomeRules, outcomeOf } from "./outcome.js";

/** The caller of a direct call. */
export interface DirectCaller {
  signal: AbortSignal;
  sendProgress: SendProgress;
  log: Log;
  asker: Asker;
  /** To `askFirst`, where it has been asked already. */
  answers?: Answers;
}

export class Tool {
  readonly name: string;
  readonly taskSupport: TaskSupport;
  readonly #config: AnyToolConfig;
  readonly #handler: AnyToolHandler;
  readonly #rules: OutcomeRules;

  constructor(
    name: string,
    config: AnyToolConfig,
    handler: AnyToolHandler,
    rules: Pick<OutcomeRules, "maskErrors" | "logger">,
  ) {
    assertRecovery(name, config.recovery);
    this.name = name;
    this.taskSupport = config.execution?.taskSupport ?? "forbidden";
    this.#config = config;
    this.#handler = handler;
    const { outputSchema, recovery } = config;
    this.#rules = { ...rules, toolName: name, outputSchema, recovery };
  }

  get inputSchema(): StandardSchemaWithJSON | undefined {
    return this.#config.inputSchema;
  }

  /** What it asks before its work begins, if anything. */
  get askFirst(): AskFirst | undefined {
    return this.#config.askFirst as AskFirst | undefined;
  }

  /** How long a 2026-era caller's answer is held for work that may be done by then. */
  get inlineMs(): number {
    return this.#config.inlineMs ?? 0;
  }

  /** What a model may be told of the call at once; `undefined` when there is nothing to say. */
  immediateResponse(input: unknown): string | undefined {
    const { immediateResponse: said } = this.#config;
    if (typeof said !== "function") return said;
    try {
      return (said as (args: unknown) => string)(input);
    } catch (error) {
      // No reason not to do the work.
      this.#rules.logger.error({ toolName: this.name, error: describeError(error) }, "immediateResponse threw");
      return undefined;
    }
  }

  /** Whether its direct calls go on as tasks when they take long. */
  get promotes(): boolean {
    return this.#config.promoteAfterMs !== undefined;
  }

  /** After how long they do. */
  get promoteAfterMs(): number {
    return this.#config.promoteAfterMs ?? 0;
  }

  /** The tool as the runtime runs it. */
  definition(): ToolDefinition {
    const { recovery, maxRunMs, ttl, pollInterval, cancelGraceMs } = this.#config;
    const definition: ToolDefinition = {
      name: this.name,
      handler: (args, context) => this.#runTask(args, context, this.#handler),
    };
    if (recovery !== undefined) definition.recovery = this.#recoveryOfTasks(recovery);
    if (maxRunMs !== undefined) definition.maxRunMs = maxRunMs;
    if (ttl !== undefined) definition.ttlMs = ttl;
    if (pollInterval !== undefined) definition.pollIntervalMs = pollInterval;
    if (cancelGraceMs !== undefined) definition.cancelGraceMs = cancelGraceMs;
    return definition;
  }

  /** Runs a direct call to its end. */
  async callDirectly(
    input: unknown,
    request: JsonObject,
    { signal, sendProgress, log, asker, answers }: DirectCaller,
  ): Promise<Outcome> {
    const { context, cancelSource } = directContext(request, input, { sendProgress, log });
    const cancel = (): void => cancelSource.cancel();
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return withoutRetry(await this.#run(this.#handler, input, context, asker, answers));
    } finally {
      signal.removeEventListener("abort", cancel);
      cancelSource.close();
    }
  }

  #run(
    handler: AnyToolHandler,
    input: unknown,
    context: ToolContext,
    asker: Asker,
    answers: Answers | undefined,
  ): Promise<HandlerOutcome> {
    const { askFirst } = this;
    const run = (known: Answers): unknown => handler(input, new HandlerContext(context, asker, known));
    if (askFirst === undefined || answers !== undefined)
      return outcomeOf(() => run(answers ?? NO_ANSWERS), this.#rules);
    return outcomeOf(async () => run(await askAll(askFirst, input, asker)), this.#rules);
  }

  #recoveryOfTasks(recovery: NonNullable<AnyToolConfig["recovery"]>): ToolRecovery {
    if (typeof recovery === "string" || "retry" in recovery) return recovery;
    const { resume } = recovery;
    return {
      ...recovery,
      resume: (args, context, checkpoint) =>
        this.#runTask(args, context, (input, ctx) => resume(input, ctx, checkpoint)),
    };
  }

  /** Of a task that another process took over, the arguments are made again of what the caller sent. */
  #runTask(args: JsonObject, context: ToolContext, handler: AnyToolHandler): Promise<HandlerOutcome> {
    if (context.input !== undefined) return this.#runChecked(context.input, context, handler);
    return this.#runAnew(args, context, handler);
  }

  async #runAnew(args: JsonObject, context: ToolContext, handler: AnyToolHandler): Promise<HandlerOutcome> {
    const checked = await this.check(args);
    if ("refused" in checked) throw new Error(checked.refused);
    return this.#runChecked(checked.input, context, handler);
  }

  #runChecked(input: unknown, context: ToolContext, handler: AnyToolHandler): Promise<HandlerOutcome> {
    return this.#run(handler, input, context, taskAsker(context), answersOf(context));
  }

  /** What the schema makes of `args`, or why it refuses them, in the SDK's words. At once where the schema can. */
  check(args: JsonObject): Checked | Promise<Checked> {
    if (this.inputSchema === undefined) return { input: {} };
    try {
      const checking = this.inputSchema["~standard"].validate(args);
      if (!(checking instanceof Promise)) return this.#checked(checking);
      return checking.then((checked) => this.#checked(checked), refusedBy);
    } catch (error) {
      return refusedBy(error);
    }
  }

  #checked(checked: StandardSchemaV1.Result<unknown>): Checked {
    if (checked.issues === undefined || checked.issues.length === 0) {
      return { input: (checked as StandardSchemaV1.SuccessResult<unknown>).value };
    }
    const why = describeIssues(checked.issues);
    return { refused: `Input validation error: Invalid arguments for tool ${this.name}: ${why}` };
  }
}

/** A direct call has its one try: its caller can call again. */
function withoutRetry({ retry: _retry, ...outcome }: HandlerOutcome): Outcome {
  return outcome;
}

/** What an input schema came to. */
export type Checked = { input: unknown } | { refused: string };

function refusedBy(error: unknown): Checked {
  return { refused: textOfThrown(error) };
}

/** What the creating call was asked before there was a task. */
function answersOf({ request }: ToolContext): Answers | undefined {
  return asObject(request.answers) as Answers | undefined;
}
