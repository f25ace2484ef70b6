/** How a request can end, and how that is read from a kernel's reply. */
import type { WithdrawCause } from "./routes.js";

/** Ways in which output may be missing although the request ended well. */
export interface Incompleteness {
  /** The server dropped messages beyond its rate limit. */
  rateLimited: boolean;
  /** The connection was lost in between; what the kernel said meanwhile may be lost. */
  reconnected: boolean;
  /** A message beyond the size limit was lost. */
  tooLarge: boolean;
  /** The kernel finished, but one of its two closing messages never came. */
  unconfirmed: boolean;
  /** What the kernel kept of the run for a later process had no room for all of it. */
  unrecorded: boolean;
}

/** An error that the code raised, as the kernel tells it. */
export interface CodeError {
  ename: string;
  evalue: string;
  /** With ANSI colours. */
  traceback: string[];
}

/**
 * Why a request never ran: it was `cancelled` before, an `earlier_failure` made the kernel drop it, or there was no
 * kernel or connection left to run it. `never_sent`: the process that asked for it ended before it did.
 */
export type AbortCause = WithdrawCause | "earlier_failure" | "never_sent";

/** What is known of a request however it ended. */
export interface EndedExecution {
  /** The kernel's number for this run; null if it gave none. */
  executionCount: number | null;
  /** Epoch milliseconds; null if the kernel was never seen to begin. */
  startedAt: number | null;
  /** Of a run that was taken up or whose connection was lost: since `startedAt` the time that the kernel's own dates tell. */
  endedAt: number;
  /** An interrupt was sent while it ran, whether or not that ended it. */
  interruptSent: boolean;
  incomplete: Incompleteness;
}

/** How a request ended. */
export type ExecutionEnd = EndedExecution &
  (
    | { state: "completed"; reply: Record<string, unknown> }
    /** The code raised. */
    | { state: "errored"; error: CodeError; reply: Record<string, unknown> }
    /** The code raised because we interrupted it. */
    | { state: "interrupted"; error: CodeError; reply: Record<string, unknown> }
    /** It never ran, and may be sent again. */
    | { state: "aborted"; cause: AbortCause; reason: string }
    /** What it came to is unknown; `startedAt` says whether it had begun. */
    | { state: "kernel_died" | "kernel_restarted" | "connection_lost"; reason: string }
  );

/** The name of a way to end. */
export type EndState = ExecutionEnd["state"];

/** The end of a request that was never sent to a kernel. */
export function neverRan(endedAt: number, cause: AbortCause, reason: string): ExecutionEnd {
  return {
    state: "aborted",
    cause,
    reason,
    executionCount: null,
    startedAt: null,
    endedAt,
    interruptSent: false,
    incomplete: { rateLimited: false, reconnected: false, tooLarge: false, unconfirmed: false, unrecorded: false },
  };
}

/** Stands for the reply that an interrupt took with it. */
export const INTERRUPTED: Record<string, unknown> = {
  status: "error",
  ename: "KeyboardInterrupt",
  evalue: "",
  traceback: [],
};

/** The reply carries the error as well: iopub's copy may have been dropped by a rate limit. */
export function codeError(reply: Record<string, unknown>, published: Record<string, unknown> | undefined): CodeError {
  const source = typeof reply.ename === "string" ? reply : (published ?? reply);
  const { ename, evalue, traceback } = source;
  return {
    ename: typeof ename === "string" ? ename : "",
    evalue: typeof evalue === "string" ? evalue : "",
    traceback: Array.isArray(traceback) ? traceback.filter((line) => typeof line === "string") : [],
  };
}

/** `abort` is what the messaging specification called it before version 5.1; some kernels still do. */
export function isAborted(reply: Record<string, unknown>): boolean {
  return reply.status === "aborted" || reply.status === "abort";
}

/**
 * Whether an error is what an interrupt looks like: KeyboardInterrupt, InterruptException, and CancelledError of a
 * top-level `await`. Another error that comes after an interrupt is the code's own.
 */
export function isInterruption(error: CodeError): boolean {
  return error.ename === "" || /interrupt|cancell?ed/i.test(error.ename);
}
