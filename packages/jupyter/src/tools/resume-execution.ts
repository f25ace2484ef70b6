/**
 * Collecting a task's run that an earlier process began. The kernel has gone on without it: what was printed is asked for
 * again, the rest is heard as it comes, and the task ends as it would have. A task that is to be cancelled is collected in
 * the same way, and its run is interrupted as soon as it is found.
 */
import { randomUUID } from "node:crypto";
import { type Clock, HandedOverError, type JsonValue, type ToolContext, within } from "@claimcheck/core";
import type { SharedKernel } from "../execution/index.js";
import { JupyterError, type RecorderAnswer } from "../kernel/index.js";
import type { CellKey } from "../notebook/index.js";
import { answerExecution } from "./answer-execution.js";
import { type ExecutionResult, endedBadly, type KernelReport, sentence } from "./execution-report.js";
import type { ExecutionRequest } from "./executions.js";
import { siteFor } from "./prepare.js";
import { ownerOf, type WaitArguments, type Workbench, waitingOf } from "./workbench.js";

/** What a task keeps of its run before it is sent, for whoever has to find it again. */
export interface RunCheckpoint {
  executionId: string;
  kernel: KernelReport;
  /** Names the kernel's process, where it says so: another one has lost the run. */
  process?: string;
  /** Whether the kernel keeps what it publishes about the run. */
  isRecorded: boolean;
  /** That of the connection. */
  sessionId: string;
  msgId: string;
  code: string;
  interruptAfterMs?: number;
  cell?: { path: string; key: CellKey; live: boolean };
}

/** What a request is on a kernel that nobody comes back to. */
type NewRequest = Omit<ExecutionRequest, "kernel" | "id" | "msgId" | "sentBefore">;

/**
 * The run to be made of `request`: in a task, as one that a later process finds again.
 *
 * @throws CancelledError
 */
export async function trackedRun(
  request: NewRequest,
  kernel: SharedKernel,
  ctx: ToolContext,
): Promise<ExecutionRequest> {
  if (ctx.task === null) return { ...request, kernel };
  const { process, isRecording } = await kernel.recorder.begin();
  const checkpoint: RunCheckpoint = {
    executionId: `exe_${randomUUID()}`,
    kernel: request.kernelReport,
    isRecorded: isRecording,
    sessionId: kernel.connection.sessionId,
    msgId: randomUUID(),
    code: request.code,
  };
  if (process !== undefined) checkpoint.process = process;
  if (request.interruptAfterMs !== undefined) checkpoint.interruptAfterMs = request.interruptAfterMs;
  if (request.cell !== undefined) {
    const { path, key, live } = request.cell;
    checkpoint.cell = { path, key, live };
  }
  await ctx.task.checkpoint(checkpoint as unknown as JsonValue);
  ctx.cancelToken.checkCancelled();
  return { ...request, kernel, id: checkpoint.executionId, msgId: checkpoint.msgId };
}

/**
 * Goes on with the run that `checkpoint` tells of; `anew` makes it where none was sent. When the task is cancelled, before or
 * meanwhile, the run is stopped where it is this one that the kernel runs, and none is made.
 *
 * @throws CancelledError; Error when the kernel has lost the run, and as {@link answerExecution} does
 */
export async function resumeExecution(
  checkpoint: JsonValue | undefined,
  ctx: ToolContext,
  bench: Workbench,
  args: WaitArguments,
  anew: () => Promise<ExecutionResult>,
): Promise<ExecutionResult> {
  if (checkpoint === undefined) {
    ctx.cancelToken.checkCancelled();
    return await anew();
  }
  const left = checkpoint as unknown as RunCheckpoint;
  const { kernels, notebooks } = await siteFor(ctx, bench);
  const kernel = await kernelOf(left, kernels, ctx, bench.clock);
  const log = await logOf(left, kernel, ctx);
  const execution = bench.executions.start({
    id: left.executionId,
    owner: ownerOf(ctx.request),
    code: left.code,
    kernel,
    kernelReport: left.kernel,
    interruptAfterMs: left.interruptAfterMs,
    msgId: left.msgId,
    sentBefore: { log },
    ...(left.cell === undefined ? {} : { cell: { files: notebooks, ...left.cell } }),
  });
  try {
    return await answerExecution(execution, ctx, waitingOf(args, bench));
  } catch (error) {
    const end = execution.end;
    if (end?.state !== "aborted" || end.cause !== "never_sent") throw error;
    ctx.cancelToken.checkCancelled();
    return await anew();
  }
}

/** What the kernel has kept of the run; what it says of it from now on is kept here until the run is adopted. */
async function logOf(left: RunCheckpoint, kernel: SharedKernel, ctx: ToolContext): Promise<RecorderAnswer["log"]> {
  kernel.connection.expect(left.msgId);
  try {
    const { process, log } = await kernel.recorder.read(left.msgId);
    checkHandedOver(ctx);
    raiseIfReplaced(left, process, log);
    return log;
  } catch (error) {
    kernel.connection.forget(left.msgId);
    throw error;
  }
}

/** For so long a Jupyter Server that does not answer may still be coming up, as after a restart of the machine. */
const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 2_000;

/**
 * The kernel that the run was sent to. Where nothing is recorded, the server's own memory of the session is all there is. For a
 * task that is cancelled it is looked for too, whatever the server says: as long as it is not found, the run may go on.
 *
 * @throws HandedOverError; Error when the kernel is gone; JupyterError when the server does not answer for a minute
 */
export async function kernelOf(
  left: Pick<RunCheckpoint, "kernel" | "isRecorded" | "sessionId">,
  kernels: { left(id: string, sessionId?: string): Promise<SharedKernel> },
  ctx: Pick<ToolContext, "cancelToken" | "signal" | "sendProgress">,
  clock: Clock,
): Promise<SharedKernel> {
  const untilAt = clock.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await kernels.left(left.kernel.id, left.isRecorded ? undefined : left.sessionId);
    } catch (cause) {
      if (!JupyterError.is(cause)) throw cause;
      if (cause.code === "not_found") throw lost("kernel_died", "the server has no such kernel any more", left, cause);
      const mayPass = cause.code === "unreachable" || ctx.cancelToken.isCancelled();
      if (!mayPass || clock.now() >= untilAt) throw cause;
      ctx.sendProgress(0, { message: `waiting for the Jupyter Server: ${cause.message}` });
    }
    await within(clock, ASK_AGAIN_MS, cancelled(ctx));
    checkHandedOver(ctx);
  }
}

/** Does not settle where there is nothing new in it. */
function cancelled({ cancelToken }: Pick<ToolContext, "cancelToken">): Promise<unknown> {
  return cancelToken.isCancelled() ? new Promise(() => {}) : cancelToken.wait();
}

/** What is cancelled goes on to be stopped; what goes on in another process is left to that. */
function checkHandedOver({ cancelToken, signal }: Pick<ToolContext, "cancelToken" | "signal">): void {
  if (cancelToken.isCancelled() && signal.reason instanceof HandedOverError) throw signal.reason;
}

function raiseIfReplaced(left: RunCheckpoint, process: string | undefined, log: RecorderAnswer["log"]): void {
  const isAnother = left.process !== undefined && process !== undefined && process !== left.process;
  if (isAnother || (left.isRecorded && log === undefined)) {
    throw lost("kernel_restarted", "another process answers in its place", left);
  }
}

function lost(
  state: "kernel_died" | "kernel_restarted",
  reason: string,
  { kernel }: Pick<RunCheckpoint, "kernel">,
  cause?: unknown,
): Error {
  return new Error(sentence(endedBadly({ state, reason }, kernel) ?? reason), { cause });
}
