/** From a run to what its call is answered: the waiting, what is told meanwhile, and the result. */
import { type Clock, HandedOverError, type JsonValue, type ToolContext } from "@claimcheck/core";
import { type RenderLimits, renderOutputs } from "../execution/index.js";
import type { ExecutionEnd } from "../kernel/index.js";
import type { CellOutput } from "../notebook/index.js";
import { type ExecutionResult, endedBadly, executionResult, sentence } from "./execution-report.js";
import type { ToolExecution } from "./executions.js";
import { type Followed, followRun } from "./follow-run.js";
import { lastWords } from "./last-words.js";
import type { WaitLimit } from "./wait-limit.js";

export interface AnswerOptions {
  waitLimit: WaitLimit;
  /** What becomes of the run when the call is cancelled. Default: `stop`. */
  whenCancelled?: "stop" | "leave";
  /** How much of the outputs is shown. */
  limits: Partial<RenderLimits>;
  clock: Clock;
}

/**
 * Waits for the run as {@link followRun} does, tells a task what it produces as it comes, and answers with the tool's result.
 *
 * An exception in the code is a result, with its outputs. What a kernel began and did not bring to its end is one too on a
 * direct call, whose caller would not see the outputs otherwise; a task raises it and keeps them as its partial output.
 *
 * @throws CancelledError, and Error for a run that never began, or a task's run that was lost
 */
export async function answerExecution(
  execution: ToolExecution,
  ctx: ToolContext,
  options: AnswerOptions,
): Promise<ExecutionResult> {
  const { run } = execution;
  const tell = teller(execution, ctx, options);
  const unfollow = execution.follow(tell);
  tellQueued(execution, ctx);
  try {
    const followed = await followRun(
      { ended: execution.settled, limit: execution.limit, cancel: () => run.cancel() },
      ctx,
      options,
    );
    tell(run.outputs(), "last");
    if (followed.kind === "ended") raiseIfLost(followed.end, execution, ctx);
    return resultOf(execution, followed, options);
  } catch (error) {
    tell(run.outputs(), "last");
    if (error instanceof HandedOverError) execution.letGo();
    throw error;
  } finally {
    unfollow();
  }
}

/** @throws Error for a run that never began, and for a task whose run the kernel did not bring to its end */
function raiseIfLost(end: ExecutionEnd, { kernel }: ToolExecution, { task }: ToolContext): void {
  const lost = endedBadly(end, kernel);
  if (lost !== undefined && (task !== null || end.startedAt === null)) throw new Error(sentence(lost));
}

function resultOf(execution: ToolExecution, followed: Followed, options: AnswerOptions): ExecutionResult {
  const { cell } = execution;
  return executionResult({
    executionId: execution.id,
    kernel: execution.kernel,
    ...(cell === undefined ? {} : { cell }),
    rendering: renderOutputs(execution.run.outputs(), options.limits),
    end: followed.kind === "ended" ? followed.end : undefined,
    limit: followed.limit,
    executionCount: execution.run.executionCount,
    startedAt: execution.startedAt,
    now: options.clock.now(),
    waitLimitMs: options.waitLimit.ms,
    interruptAfterMs: execution.limit.ms,
  });
}

/** Records outputs as they come, with a line that says how far the run is. No output is an empty list, and not a text that says so. */
function teller(execution: ToolExecution, ctx: ToolContext, { limits, clock }: AnswerOptions) {
  let lastElapsed = 0;
  let lastFacts = "";
  let isHeard = true;
  return (produced: readonly CellOutput[], when?: "last"): void => {
    // Working out what to say costs time, and the caller of a direct call may not want to hear it.
    if (!isHeard) return;
    const outputs = ctx.cancelToken.isCancelled() && isOnlyInterruption(produced) ? [] : produced;
    const content = outputs.length === 0 ? [] : renderOutputs(outputs, limits).content;
    ctx.task?.recordOutput(content as unknown as JsonValue[]);
    if (content.length === 0) return;
    const until = execution.end?.endedAt ?? clock.now();
    const elapsed = (until - (execution.startedAt ?? until)) / 1000;
    lastElapsed = Math.max(elapsed, lastElapsed + 0.001);
    const facts = progressFacts(outputs.length, lastWords(content));
    // What came just before the end has mostly been told already.
    if (when === "last" && facts === lastFacts) return;
    lastFacts = facts;
    const sent = ctx.sendProgress(lastElapsed, { message: `${lastElapsed.toFixed(1)} s, ${facts}` });
    isHeard = sent || ctx.task !== null;
  };
}

/**
 * Whether all that there is is the traceback of our own interrupt. A task that produced nothing keeps no result,
 * and that traceback is of our making.
 */
function isOnlyInterruption([first, ...more]: readonly CellOutput[]): boolean {
  return more.length === 0 && first?.output_type === "error" && /interrupt|cancell?ed/i.test(first.ename);
}

function progressFacts(count: number, words: string): string {
  const facts = `${count} ${count === 1 ? "output" : "outputs"}`;
  return words === "" ? facts : `${facts}: ${words}`;
}

function tellQueued(execution: ToolExecution, { sendProgress }: ToolContext): void {
  const { state } = execution.run;
  if (state.name !== "queued" || state.position === 0) return;
  const others = state.position === 1 ? "another run" : `${state.position} other runs`;
  sendProgress(0, { message: `queued behind ${others} of kernel ${execution.kernel.id}` });
}
