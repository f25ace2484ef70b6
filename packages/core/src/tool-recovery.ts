/** What a tool says of being run again: after its runner was lost, and after errors that may pass. */
import type { ResumeHandler } from "./context.js";
import { aFunction, checkOptions, type OptionRules, wholeNumberFrom } from "./options.js";
import type { RecoveryPolicy } from "./task.js";

/** How a tool is run again whose policy is `retry`. */
export interface RetryOptions {
  /** How often it is run, all told; a whole number of at least 1. Default: the runtime's `maxTries`. */
  tries?: number;
  /** The pause after the first failed try, ms; each later one is twice as long. Default: 1000. */
  backOffMs?: number;
  /** No pause is longer, ms. Default: one minute. */
  maxBackOffMs?: number;
  /** Whether another try may fare better after `error`. Default: only after a {@link RetryableError}. */
  isRetryable?: (error: unknown) => boolean;
}

/**
 * What becomes of a task that did not come to its end.
 *
 * - `fail`: it fails, with the reason and what it had produced.
 * - `retry`: it is run again from the start after its runner was lost, or when it throws what a later try may not; safe
 *   only for work that may be done twice.
 * - `resume`: after its runner was lost, or its server shut down, `resume` is called in place of the handler. It gets the
 *   last checkpoint, `undefined` where none was kept, and goes on from there. Where the task is to be cancelled it is called
 *   with a context that is cancelled already, to stop what goes on outside. `tries` counts the handler's own run.
 */
export type ToolRecovery<Resume = ResumeHandler> =
  | "fail"
  | "retry"
  | { retry: RetryOptions }
  | { resume: Resume; tries?: number };

/** Thrown by a tool whose policy is `retry` when a later try may succeed: a service that is out, a limit on calls. */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
  /** How long to wait before the next try, such as what `Retry-After` said. `undefined`: as the tool's policy says. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

const DEFAULTS: Required<Pick<RetryOptions, "backOffMs" | "maxBackOffMs">> = { backOffMs: 1000, maxBackOffMs: 60_000 };

/** The policy's name, as the record keeps it. */
export function policyOf(recovery: ToolRecovery<unknown> | undefined): RecoveryPolicy {
  if (recovery === undefined || recovery === "fail") return "fail";
  return recovery === "retry" || "retry" in recovery ? "retry" : "resume";
}

/** How often a task is run, all told. */
export function triesOf(recovery: ToolRecovery<unknown> | undefined, maxTries: number): number {
  if (recovery === undefined || recovery === "fail") return 1;
  if (recovery === "retry") return maxTries;
  return ("retry" in recovery ? recovery.retry.tries : recovery.tries) ?? maxTries;
}

/** The handler that goes on with work that was begun; `undefined` where that is the tool's own. */
export function resumeOf<Resume>(recovery: ToolRecovery<Resume> | undefined): Resume | undefined {
  return typeof recovery === "object" && "resume" in recovery ? recovery.resume : undefined;
}

/**
 * Whether, by the tool's policy, another try may follow `error`, and after how long where the error says so. An error that
 * a predicate throws for is not one to try again after.
 */
export function retryAfter(
  error: unknown,
  recovery: ToolRecovery<unknown> | undefined,
): { afterMs?: number } | undefined {
  if (policyOf(recovery) !== "retry") return undefined;
  const { isRetryable = isRetryableError } = retryOptions(recovery);
  try {
    if (!isRetryable(error)) return undefined;
  } catch {
    return undefined;
  }
  const afterMs = isRetryableError(error) ? error.retryAfterMs : undefined;
  return afterMs !== undefined && Number.isFinite(afterMs) && afterMs >= 0 ? { afterMs } : {};
}

/** Also one of another copy of this package. */
function isRetryableError(error: unknown): error is RetryableError {
  return error instanceof RetryableError || (error instanceof Error && error.name === "RetryableError");
}

/**
 * The pause after the failed try number `tries`. Between half of what is due and all of it: what failed together should
 * not come back together.
 */
function backOffOf(recovery: ToolRecovery<unknown> | undefined, tries: number): number {
  const { backOffMs = DEFAULTS.backOffMs, maxBackOffMs = DEFAULTS.maxBackOffMs } = retryOptions(recovery);
  const due = Math.min(backOffMs * 2 ** (tries - 1), maxBackOffMs);
  return Math.ceil(due * (1 + Math.random()) * 0.5);
}

function retryOptions(recovery: ToolRecovery<unknown> | undefined): RetryOptions {
  return typeof recovery === "object" && "retry" in recovery ? recovery.retry : {};
}

const RETRY_OPTIONS: OptionRules<RetryOptions> = {
  tries: wholeNumberFrom(1),
  backOffMs: wholeNumberFrom(0),
  maxBackOffMs: wholeNumberFrom(0),
  isRetryable: aFunction,
};

const RESUME_OPTIONS: OptionRules<{ resume: unknown; tries?: number }> = {
  resume: aFunction,
  tries: wholeNumberFrom(1),
};

/**
 * Checks what a tool was declared with.
 *
 * @throws TypeError, RangeError that name the tool, what was wrong and what would be right
 */
export function assertRecovery(toolName: string, recovery: unknown): void {
  if (recovery === undefined || recovery === "fail" || recovery === "retry") return;
  const of = `recovery of the tool ${JSON.stringify(toolName)}`;
  const members = typeof recovery === "object" && recovery !== null ? Object.keys(recovery) : [];
  if (members.length === 1 && "retry" in (recovery as object)) {
    checkOptions(`retry in the ${of}`, (recovery as { retry: unknown }).retry, RETRY_OPTIONS);
  } else if (members.includes("resume") && members.every((member) => member === "resume" || member === "tries")) {
    const { resume } = recovery as { resume: unknown };
    if (typeof resume !== "function")
      throw new TypeError(`${of}: resume must be a function (args, ctx, checkpoint); got ${typeof resume}.`);
    checkOptions(of, recovery, RESUME_OPTIONS);
  } else {
    const got =
      typeof recovery === "string" ? JSON.stringify(recovery) : `an object of ${members.join(", ") || "nothing"}`;
    const hint =
      recovery === "resume" ? " A tool that resumes says how: { resume: (args, ctx, checkpoint) => … }." : "";
    throw new TypeError(`${of} must be "fail", "retry", { retry: {…} } or { resume }; got ${got}.${hint}`);
  }
}

/** The try after the failed one of the number `tries`: when, and what clients hear; `undefined` when that was the last. */
export function nextTry(
  recovery: ToolRecovery<unknown> | undefined,
  tries: number,
  maxTries: number,
  afterMs: number | undefined,
): { pauseMs: number; announcement: string } | undefined {
  const most = triesOf(recovery, maxTries);
  if (tries >= most) return undefined;
  const pauseMs = afterMs ?? backOffOf(recovery, tries);
  return { pauseMs, announcement: `Try ${tries} of ${most} failed; the next one begins in ${seconds(pauseMs)}.` };
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}
