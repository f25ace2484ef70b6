/**
 * The one execution engine: whatever asks for code to be run, a cell or a snippet, as a task or directly, for a while or
 * to its end, gets it from {@link startRun}. Nothing else in this package sends code to a kernel or waits for one.
 *
 * A run belongs to the kernel and not to who asked: it goes on when nobody waits for it, and it ends in one of the typed
 * states of the kernel's side, with all its outputs, whatever happens.
 */
import { type Clock, describeError, type Logger, stderrLogger, systemClock } from "@claimcheck/core";
import type {
  CancelReport,
  ExecuteRequest,
  ExecutionEnd,
  KernelMessage,
  KernelQueue,
  QueuedRun,
  RunListener,
  RunState,
  SentBefore,
} from "../kernel/index.js";
import type { CellOutput } from "../notebook/index.js";
import { Coalescer } from "./coalesce.js";
import type { DisplayRegistry } from "./display-registry.js";
import { CellOutputs, type OutputLimits } from "./outputs.js";

/** The kernel that runs are made on. */
export interface RunKernel {
  queue: {
    submit(...request: Parameters<KernelQueue["submit"]>): Pick<QueuedRun, "ended" | "state" | "startedAt" | "cancel">;
  };
  /** One for all runs of the kernel, since a later cell may update an earlier one's displays. */
  displays: DisplayRegistry;
}

/** What to run, and who follows it. */
export interface RunRequest extends Omit<ExecuteRequest, "metadata" | "userExpressions"> {
  kernel: RunKernel;
  /** An earlier process has sent it, under `msgId`: it is followed and not sent. Default: it is new. */
  sentBefore?: SentBefore | undefined;
  /** The notebook cell that it is: the kernel is told its id, as an editor does. Default: it is no cell. */
  cell?: { id?: string | undefined };
  /**
   * Told all outputs so far: soon after the first, then at most every 100 ms and for at most a tenth of the time; not for the last time, since {@link EngineRun.ended} has them.
   *
   * Told again after the end, with `late`, when a thread that the code left behind prints, or another run updates a
   * display of this one.
   */
  onOutputs?(outputs: CellOutput[], late: boolean): void | Promise<void>;
  /** Answers `input()` and `getpass()`. Default: questions fail at once, inside the kernel. */
  onInput?: NonNullable<RunListener["onInput"]>;
  /** How much output is kept. */
  limits?: Partial<OutputLimits>;
  /** Default: the host's. */
  clock?: Clock;
  /** Told what the callbacks throw. Default: stderr. */
  logger?: Logger;
}

/** How a run ended, and what it left. */
export type RunEnd = ExecutionEnd & {
  outputs: CellOutput[];
  /** From the request until the kernel began; until the end if it never did. */
  queuedMs: number;
  /** From the kernel's beginning to the end; null if it never began. */
  ranMs: number | null;
};

const OUTPUT_INTERVAL_MS = 100;

/** Puts code in the kernel's queue. Returns at once; what becomes of it is in the run. */
export function startRun(request: RunRequest): EngineRun {
  return new EngineRun(request);
}

/** One run; see {@link startRun}. */
export class EngineRun {
  /** Resolves when the kernel has begun with it, or when it has ended without. */
  readonly begun: Promise<void>;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<RunEnd>;
  readonly #queued: ReturnType<RunKernel["queue"]["submit"]>;
  readonly #outputs: CellOutputs;
  readonly #coalescer: Coalescer;
  readonly #request: RunRequest;
  readonly #clock: Clock;
  readonly #submittedAt: number;
  #settleBegun: () => void = () => {};
  #isOver = false;

  /** @internal */
  constructor(request: RunRequest) {
    this.#request = request;
    this.#clock = request.clock ?? systemClock;
    this.#submittedAt = this.#clock.now();
    this.#coalescer = this.#createCoalescer();
    this.#outputs = new CellOutputs({
      displays: request.kernel.displays,
      ...(request.limits === undefined ? {} : { limits: request.limits }),
      onForeignUpdate: () => this.#coalescer.mark(),
    });
    this.begun = new Promise((resolve) => {
      this.#settleBegun = resolve;
    });
    const { sentBefore } = request;
    this.#queued = request.kernel.queue.submit(executeRequest(request), this.#listener(), { sentBefore });
    this.ended = this.#queued.ended.then((end) => this.#onEnd(end));
  }

  /** Where it stands. */
  get state(): RunState {
    return this.#queued.state;
  }

  /** When the kernel began with it, epoch ms; null before it has said so. */
  get startedAt(): number | null {
    return this.#queued.startedAt;
  }

  /** The prompt number, once the kernel has said it. */
  get executionCount(): number | null {
    return this.#outputs.executionCount;
  }

  /** All outputs so far. */
  outputs(): CellOutput[] {
    return this.#outputs.outputs();
  }

  /**
   * Stops it, wherever it is: takes it out of the queue, or interrupts the kernel and waits to see it idle, asking again
   * if need be. Resolves with what was seen to come of it, after a few seconds at most; it may be called again. Never
   * rejects, and never touches another run.
   */
  async cancel(): Promise<CancelReport> {
    return await this.#queued.cancel();
  }

  #createCoalescer(): Coalescer {
    return new Coalescer({
      work: () => this.#request.onOutputs?.(this.outputs(), this.#isOver),
      intervalMs: OUTPUT_INTERVAL_MS,
      clock: this.#clock,
      onError: (error) => this.#report(error),
    });
  }

  #listener(): RunListener {
    const { onInput } = this.#request;
    return {
      onMessage: (message) => this.#onMessage(message),
      onState: (state) => this.#onState(state),
      ...(onInput === undefined ? {} : { onInput: (question) => onInput.call(this.#request, question) }),
    };
  }

  #onMessage(message: KernelMessage): void {
    // The first message of a run is that the kernel is busy with it.
    this.#settleBegun();
    if (this.#outputs.apply(message)) this.#coalescer.mark();
  }

  #onState(state: RunState): void {
    if (state.name === "running" || state.name === "done") this.#settleBegun();
  }

  #onEnd(end: ExecutionEnd): RunEnd {
    this.#outputs.applyReply(replyOf(end));
    // What is coalesced until now is in the result: telling it again would overtake whoever saves the result.
    this.#coalescer.reset();
    this.#isOver = true;
    const { executionCount } = this.#outputs;
    const begunAt = end.startedAt ?? end.endedAt;
    return {
      ...end,
      executionCount: executionCount ?? end.executionCount,
      outputs: this.outputs(),
      queuedMs: begunAt - this.#submittedAt,
      ranMs: end.startedAt === null ? null : end.endedAt - end.startedAt,
    };
  }

  #report(error: unknown): void {
    const logger = this.#request.logger ?? stderrLogger;
    logger.error({ error: describeError(error) }, "a follower of a run's outputs failed");
  }
}

function executeRequest(request: RunRequest): ExecuteRequest {
  const { code, storeHistory, silent, cell, msgId } = request;
  return {
    code,
    ...(msgId === undefined ? {} : { msgId }),
    ...(storeHistory === undefined ? {} : { storeHistory }),
    ...(silent === undefined ? {} : { silent }),
    // The name under which editors send it.
    ...(cell?.id === undefined ? {} : { metadata: { cellId: cell.id } }),
  };
}

/** The reply's content; of a run that got none, the error that it is known to have ended with. */
function replyOf(end: ExecutionEnd): Record<string, unknown> {
  if (end.state === "completed") return end.reply;
  if (end.state === "errored" || end.state === "interrupted") return { ...end.reply, ...end.error, status: "error" };
  return {};
}
