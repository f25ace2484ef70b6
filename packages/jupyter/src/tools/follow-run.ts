/**
 * Waiting for a run on behalf of a call, and stopping it when the call is cancelled. The run itself is the engine's and goes
 * on without anybody who waits.
 *
 * Two limits that must not be confused: the waiting limit ends the call and leaves the run alone; the run limit interrupts
 * the run, and is its own.
 */
import { HandedOverError, LATE, type ToolContext } from "@claimcheck/core";
import type { CancelReport, ExecutionEnd } from "../kernel/index.js";
import type { RunLimit } from "./run-limit.js";
import type { WaitLimit } from "./wait-limit.js";

/** The part of a run that this needs. */
export interface FollowedRun<End extends ExecutionEnd> {
  /** Never rejects. */
  readonly ended: Promise<End>;
  readonly limit: Pick<RunLimit, "hasPassed" | "ignored">;
  /** Stops it, and resolves with what that came to. */
  cancel(): Promise<CancelReport>;
}

export interface FollowOptions {
  /** That of a direct call. A task has no such limit: nobody is kept waiting by it. */
  waitLimit: WaitLimit;
  /** What becomes of the run when the call is cancelled. Default: `stop`. */
  whenCancelled?: "stop" | "leave";
}

/** What the waiting came to. */
export type Followed<End extends ExecutionEnd = ExecutionEnd> =
  /** `limit` is set when the run was interrupted because of it. */
  | { kind: "ended"; end: End; limit: "interrupt_after" | undefined }
  /** The run goes on: the call has waited enough, or the kernel ignores the interrupt of the run limit. */
  | { kind: "still_running"; limit: "timeout" | "interrupt_after" };

/**
 * Waits for the run's end.
 *
 * A cancelled call stops its run: a task by its registered interrupt, a direct call because its caller has dropped the
 * connection that it was on the other end of.
 *
 * @throws HandedOverError when another process is to go on with the task, at once: the run is left alone
 * @throws CancelledError when the call is cancelled: of a task once the run has really ended, of a direct call once all was
 * done to stop it
 */
export async function followRun<End extends ExecutionEnd>(
  run: FollowedRun<End>,
  ctx: ToolContext,
  options: FollowOptions,
): Promise<Followed<End>> {
  ctx.task?.registerInterrupt(() => stop(run));
  const outcomes: Promise<Followed<End>>[] = [
    run.ended.then((end) => ({ kind: "ended", end, limit: run.limit.hasPassed ? "interrupt_after" : undefined })),
    run.limit.ignored.then(() => ({ kind: "still_running", limit: "interrupt_after" })),
  ];
  outcomes.push(ctx.task === null ? endWithCaller(run, ctx, options) : handedOver(ctx));
  const outcome = Promise.race(outcomes);
  const inTime = ctx.task === null ? await options.waitLimit.within(outcome) : await outcome;
  const followed = inTime === LATE ? STILL_RUNNING : inTime;
  // A run that ended well before any interrupt reached it has its complete result, and that one counts.
  if (followed.kind !== "ended" || !isUndisturbed(followed.end)) ctx.cancelToken.checkCancelled();
  return followed;
}

const STILL_RUNNING = { kind: "still_running", limit: "timeout" } as const;

/** Some code swallows an interrupt and ends well, such as `!sleep 60`: that is not all that it would have done. */
function isUndisturbed(end: ExecutionEnd): boolean {
  return end.state === "completed" && !end.interruptSent;
}

/** Settles only if this process lets the task go. */
async function handedOver({ cancelToken, signal }: ToolContext): Promise<never> {
  if ((await cancelToken.wait()) && signal.reason instanceof HandedOverError) throw signal.reason;
  return await new Promise(() => {});
}

/** Settles only if the caller goes away; by then the run is stopped, or will not stop. */
async function endWithCaller<End extends ExecutionEnd>(
  run: FollowedRun<End>,
  { cancelToken }: ToolContext,
  { whenCancelled = "stop" }: FollowOptions,
): Promise<never> {
  if (!(await cancelToken.wait())) return await new Promise(() => {});
  if (whenCancelled === "stop") await run.cancel();
  cancelToken.checkCancelled();
  throw new Error("The call was cancelled.");
}

/** @throws when it still runs: that is logged, and kept in the task's record */
async function stop(run: Pick<FollowedRun<ExecutionEnd>, "cancel">): Promise<void> {
  const report = await run.cancel();
  if (report.outcome === "waiting" || report.outcome === "interrupt_ignored")
    throw new Error(describeUnstopped(report));
}

function describeUnstopped(report: CancelReport): string {
  if (report.outcome === "waiting") {
    return "The run waits in the kernel behind somebody else's cell; it is interrupted as soon as the kernel begins with it.";
  }
  const refusal =
    "error" in report && report.error !== undefined ? ` The server refused an interrupt: ${report.error}` : "";
  return `The kernel was interrupted and is still busy with the run. Restarting it would end the run, and lose its variables.${refusal}`;
}
