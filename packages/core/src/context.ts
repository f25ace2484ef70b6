/** What a tool's handler gets, and the helpers that work ambiently inside it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { CancelSource, type CancelToken } from "./cancel-source.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { Outcome } from "./task.js";
import type { ToolRecovery } from "./tool-recovery.js";

/** Stops the work. May be asynchronous; what it throws is logged and does not stop the cancellation. */
export type Interrupt = () => unknown;

export interface InterruptOptions {
  /** What to do when the work has not stopped within its grace period, such as killing what was only asked to stop. */
  escalate?: Interrupt;
}

/** A question that the tool puts to a person. */
export interface QuestionRequest {
  /** The MCP request that asks it, such as `elicitation/create`. */
  method: string;
  params: JsonObject;
  /** How long to wait for the answer. Default: as long as the task lives. */
  timeoutMs?: number;
}

/** Why a question has no answer. */
export class QuestionWithdrawnError extends Error {
  override readonly name = "QuestionWithdrawnError";
  readonly reason: "timed_out" | "task_ended";

  constructor(reason: "timed_out" | "task_ended") {
    super(
      reason === "timed_out"
        ? "Nobody answered the question in time."
        : "The task ended before the question was answered.",
    );
    this.reason = reason;
  }
}

/** The task's side of a handler's context. Once the task is terminal every helper answers `false` and does nothing. */
export interface TaskHandle {
  readonly taskId: string;
  /**
   * Says how far the work has come; `current` grows. Where it does not, a new message is told all the same, and the number alone is not.
   */
  sendProgress(current: number, options?: { total?: number; message?: string }): boolean;
  /**
   * Says all outputs so far; replaces what was said before. Written at most ten times a second and with the last move, so
   * it may be called for every line. Outputs beyond the limit lose their middle, with a note of how much.
   */
  recordOutput(outputsSoFar: readonly JsonValue[]): boolean;
  /** Says how to stop the work. Called when the task is cancelled, at once if it already is. */
  registerInterrupt(stop: Interrupt, options?: InterruptOptions): boolean;
  /** Sets the status `input_required` with a message, until {@link setWorking} or the last answer. */
  requireInput(message: string): Promise<boolean>;
  setWorking(message?: string): Promise<boolean>;
  /**
   * Asks a person and waits for the answer.
   *
   * @throws QuestionWithdrawnError when nobody answers in time, or the task ends first
   * @throws TaskError `too_large` beyond the runtime's `maxQuestionsBytes`
   */
  ask(question: QuestionRequest): Promise<JsonObject>;
  /**
   * Keeps, durably, what the tool's `resume` needs to go on after a crash; replaces what was kept.
   *
   * @throws TaskError `too_large` beyond the runtime's `maxCheckpointBytes`, TypeError for what JSON cannot carry; what was
   *   kept stays
   */
  checkpoint(value: JsonValue): Promise<boolean>;
}

/** Says how far the work has come; `current` grows. Answers `false` when nobody hears it. */
export type SendProgress = (current: number, options?: { total?: number; message?: string }) => boolean;

/** How much a log message matters, from the least to the most (RFC 5424). */
export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Something that a tool says to whoever called it. */
export interface LogMessage {
  level: LogLevel;
  data: JsonValue;
  /** Which part of the tool says it. */
  logger?: string;
}

/** Says something to the caller, at once or never: nothing is kept. Answers `false` when nobody hears it. */
export type Log = (level: LogLevel, data: JsonValue, logger?: string) => boolean;

/** The one object a handler gets, on a direct call as on a task. */
export interface ToolContext {
  /** Aborted when the call is cancelled. A task's is never aborted because its caller went away. */
  readonly signal: AbortSignal;
  readonly cancelToken: CancelToken;
  /** `null` on a direct call. */
  readonly task: TaskHandle | null;
  /** That of the task; on a direct call it is heard by a caller that asked for it. */
  readonly sendProgress: SendProgress;
  /** Heard by whoever asked for messages of that level, as long as the call goes on. */
  readonly log: Log;
  /** What of the creating request is kept: principal, session, client, headers that the server keeps. */
  readonly request: JsonObject;
  /** The validated arguments as their schema made them, where they were handed over in this process. */
  readonly input: unknown;
}

/** A tool as the runtime runs it. A throw becomes an outcome of kind `threw`. */
export type ToolHandler = (args: JsonObject, context: ToolContext) => HandlerOutcome | Promise<HandlerOutcome>;

/** What a handler came to. `retry`, never stored: another try may fare better, after so long where that is known. */
export type HandlerOutcome = Outcome & { retry?: { afterMs?: number } | undefined };

/** Goes on where the last attempt of the task was lost, with the last checkpoint; `undefined` where none was kept. */
export type ResumeHandler = (
  args: JsonObject,
  context: ToolContext,
  checkpoint: JsonValue | undefined,
) => ReturnType<ToolHandler>;

/** A tool that can run as a task. */
export interface ToolDefinition {
  name: string;
  handler: ToolHandler;
  /** What becomes of a task that did not come to its end. Default: `fail`. */
  recovery?: ToolRecovery;
  /** How long it may run, waiting for a person not counted. Default: without limit. */
  maxRunMs?: number;
  /** How long its finished tasks are kept unless the caller says otherwise. Default: the runtime's. */
  ttlMs?: number;
  /** The poll interval that its tasks suggest. Default: the dialect's. */
  pollIntervalMs?: number;
  /** How long a cancelled attempt is waited for, and again after escalating. Default: the runtime's. */
  cancelGraceMs?: number;
}

const currentTask = new AsyncLocalStorage<TaskHandle>();

/** Runs `work` so that the ambient helpers inside it, however deep, mean `task`. */
export function runInTask<T>(task: TaskHandle, work: () => T): T {
  return currentTask.run(task, work);
}

/** The task that the calling code runs in, if any. */
export function ambientTask(): TaskHandle | undefined {
  return currentTask.getStore();
}

/** {@link TaskHandle.registerInterrupt} of the task that this code runs in; `false` outside a task. */
export function registerInterrupt(stop: Interrupt, options?: InterruptOptions): boolean {
  return currentTask.getStore()?.registerInterrupt(stop, options) ?? false;
}

/** {@link TaskHandle.recordOutput} of the task that this code runs in; `false` outside a task. */
export function recordOutput(outputsSoFar: readonly JsonValue[]): boolean {
  return currentTask.getStore()?.recordOutput(outputsSoFar) ?? false;
}

/** The context of one call. Its helpers are made when they are asked for: most handlers never ask. */
export class CallContext implements ToolContext {
  readonly #cancelSource: CancelSource;
  readonly task: TaskHandle | null;
  readonly #caller: Caller;
  readonly request: JsonObject;
  readonly input: unknown;

  constructor(
    cancelSource: CancelSource,
    task: TaskHandle | null,
    caller: Caller,
    { request, input }: Pick<ToolContext, "request" | "input">,
  ) {
    this.#cancelSource = cancelSource;
    this.task = task;
    this.#caller = caller;
    this.request = request;
    this.input = input;
  }

  get signal(): AbortSignal {
    return this.#cancelSource.signal;
  }

  get cancelToken(): CancelToken {
    return this.#cancelSource;
  }

  get sendProgress(): SendProgress {
    return (current, options) => this.#caller.sendProgress(current, options);
  }

  get log(): Log {
    return (level, data, logger) => this.#caller.log(level, data, logger);
  }
}

/** Who hears what a handler says. */
type Caller = Pick<ToolContext, "sendProgress" | "log">;

/**
 * The context of a direct call, and the source that cancels it.
 * @param caller who hears of it. Default: nobody.
 */
export function directContext(
  request: JsonObject,
  input: unknown,
  { sendProgress = unheard, log = unheard }: Partial<Caller> = {},
): { context: ToolContext; cancelSource: CancelSource } {
  const cancelSource = new CancelSource();
  return { context: new CallContext(cancelSource, null, { sendProgress, log }, { request, input }), cancelSource };
}

function unheard(): boolean {
  return false;
}
