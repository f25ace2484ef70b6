/** One run of a queue: where it stands, and how it is stopped wherever that is. */
import { type Clock, describeError, LATE, type Logger, stderrLogger, systemClock, within } from "@claimcheck/core";
import type { KernelConnection } from "./connection.js";
import type { ExecuteRequest, Execution, ExecutionListener, InputRequest, SentBefore } from "./execution.js";
import { type AbortCause, type ExecutionEnd, neverRan } from "./execution-end.js";
import { type InterruptLadder, type InterruptReport, interruptExecution } from "./interrupt.js";

/** Where a run stands. */
export type RunState =
  /** `position` runs of ours come before it; 0 means that it is at the kernel, which has not begun with it. */
  | { name: "queued"; position: number }
  | { name: "running" }
  /** It is asked to stop: interrupted if it runs, else as soon as the kernel begins with it. */
  | { name: "interrupting" }
  | { name: "done"; end: ExecutionEnd };

/** Who follows a run. */
export interface RunListener extends Pick<ExecutionListener, "onMessage" | "onInput"> {
  /** The run has come to a new state; not called for a mere change of position. */
  onState?(state: RunState): void;
}

/** What a run belongs to. */
export interface RunOptions {
  /** An earlier process has sent the request, whose message id it has. Default: we send it. */
  sentBefore?: SentBefore | undefined;
}

/** What cancelling came to. */
export type CancelReport =
  /** It was taken out of the queue and never ran. */
  | { outcome: "removed" }
  /** It waits behind somebody else's cell; it is interrupted as soon as the kernel begins with it. */
  | { outcome: "waiting" }
  | InterruptReport;

/** The parts of a queue. */
export interface QueueOptions {
  connection: KernelConnection;
  /** Sends an interrupt to the kernel, and resolves when it has been delivered. */
  interrupt(): Promise<void>;
  ladder?: InterruptLadder;
  clock?: Clock;
  /** Told what a listener threw. Default: stderr. */
  logger?: Logger;
}

/** A run that the kernel dropped because of another client's failing cell is sent again this many times. */
const RESENDS = 3;

/** @internal What a run needs from its queue. */
export interface QueueSide {
  positionOf(run: QueuedRun): number;
  /** False if it does not wait any more. */
  remove(run: QueuedRun): boolean;
}

/** One run, from its submission to its end. */
export class QueuedRun {
  /** Resolves when the run is done; never rejects. */
  readonly ended: Promise<ExecutionEnd>;
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #request: ExecuteRequest;
  readonly #listener: RunListener;
  readonly #queue: QueueSide;
  #settle: (end: ExecutionEnd) => void = () => {};
  /** Until it is adopted. */
  #sentBefore: SentBefore | undefined;
  #execution: Execution | undefined;
  #end: ExecutionEnd | undefined;
  #resends = 0;
  #isCancelled = false;
  #cancelling: Promise<CancelReport> | undefined;
  #climb: Promise<InterruptReport> | undefined;

  /** @internal */
  constructor(
    options: QueueOptions,
    request: ExecuteRequest,
    listener: RunListener,
    runOptions: RunOptions,
    queue: QueueSide,
  ) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#request = request;
    this.#listener = listener;
    this.#sentBefore = runOptions.sentBefore;
    this.#queue = queue;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get state(): RunState {
    if (this.#end !== undefined) return { name: "done", end: this.#end };
    if (this.#isCancelled) return { name: "interrupting" };
    if (this.#execution?.isRunning) return { name: "running" };
    // Idle, but its reply is still to come: not waiting for anybody else any more.
    if (this.#execution?.idleSeen) return { name: "running" };
    return { name: "queued", position: this.#queue.positionOf(this) };
  }

  /** When the kernel began with it, which may have been long before it was taken up here, epoch ms; null before. */
  get startedAt(): number | null {
    return this.#execution?.startedAt ?? null;
  }

  /** The message id at the kernel; undefined before it is sent. */
  get msgId(): string | undefined {
    return this.#execution?.msgId;
  }

  /**
   * Stops the run, wherever it is, and resolves with what that came to: at once for one that waits, and after at most
   * the last rung of the ladder for one at the kernel. May be called again after `interrupt_ignored`. Never rejects.
   */
  cancel(): Promise<CancelReport> {
    this.#cancelling ??= this.#cancel().finally(() => {
      this.#cancelling = undefined;
    });
    return this.#cancelling;
  }

  /** @internal Sends it to the kernel, or takes it up where an earlier process has sent it. */
  send(): void {
    const execution = this.#sentBefore === undefined ? this.#sendAnew() : this.#adopt(this.#sentBefore);
    this.#sentBefore = undefined;
    this.#execution = execution;
    void execution.ended.then((end) => this.#onExecutionEnd(end));
  }

  #sendAnew(): Execution {
    const request = { ...this.#request, ...(this.msgId === undefined ? {} : { msgId: this.msgId }) };
    return this.#options.connection.execute(request, this.#executionListener());
  }

  #adopt(sentBefore: SentBefore): Execution {
    const { msgId } = this.#request;
    if (msgId === undefined) throw new TypeError("A request that was sent before has a message id.");
    return this.#options.connection.adopt({ ...this.#request, msgId }, sentBefore, this.#executionListener());
  }

  #executionListener(): ExecutionListener {
    return {
      ...(this.#listener.onInput === undefined ? {} : { onInput: (asked) => this.#ask(asked) }),
      onMessage: (message, late) => this.#listener.onMessage?.(message, late),
      onChange: () => this.#onChange(),
    };
  }

  /** @internal Ends it without running it. */
  abort(cause: AbortCause, reason: string): void {
    this.#finish(neverRan(this.#clock.now(), cause, reason));
  }

  /** @internal Resolves when no interrupt of this run is on its way any more. */
  async quiet(): Promise<void> {
    await this.#climb;
  }

  async #ask(question: InputRequest): Promise<string> {
    const { onInput } = this.#listener;
    if (onInput === undefined) throw new Error("nobody answers questions");
    return await onInput.call(this.#listener, question);
  }

  #onChange(): void {
    if (this.#execution?.isDone) return;
    if (this.#isCancelled) void this.#interrupt();
    this.#tell();
  }

  #onExecutionEnd(end: ExecutionEnd): void {
    const droppedByKernel = end.state === "aborted" && end.cause === "earlier_failure";
    if (droppedByKernel && this.#isCancelled) this.abort("cancelled", "it was cancelled before it ran");
    else if (droppedByKernel && this.#resends++ < RESENDS) this.send();
    else this.#finish(end);
  }

  #finish(end: ExecutionEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#settle(end);
    this.#tell();
  }

  #tell(): void {
    try {
      this.#listener.onState?.(this.state);
    } catch (error) {
      (this.#options.logger ?? stderrLogger).error({ error: describeError(error) }, "a listener of a kernel run threw");
    }
  }

  async #cancel(): Promise<CancelReport> {
    if (this.#queue.remove(this)) {
      this.abort("cancelled", "it was cancelled before it ran");
      return { outcome: "removed" };
    }
    const execution = this.#execution;
    if (execution === undefined || execution.isDone) return NOT_RUNNING;
    if (this.#options.connection.withdraw(execution)) return { outcome: "removed" };
    return await this.#stop(execution);
  }

  async #stop(execution: Execution): Promise<CancelReport> {
    if (!this.#isCancelled) {
      this.#isCancelled = true;
      this.#tell();
    }
    if (execution.isRunning) return await this.#interrupt();
    return await this.#waitForBeginning(execution);
  }

  /** Begins in the meantime: {@link #onChange} interrupts it. */
  async #waitForBeginning(execution: Execution): Promise<CancelReport> {
    const limitMs = this.#options.ladder?.giveUpMs ?? 5_000;
    if ((await within(this.#clock, limitMs, execution.begun)) === LATE) return { outcome: "waiting" };
    return execution.isRunning || this.#climb !== undefined ? await this.#interrupt() : NOT_RUNNING;
  }

  /** One climb at a time, and one interrupt ladder for all who ask meanwhile. */
  #interrupt(): Promise<InterruptReport> {
    const { connection, interrupt, ladder, clock } = this.#options;
    if (this.#execution === undefined) return Promise.resolve(NOT_RUNNING);
    this.#climb ??= interruptExecution({
      execution: this.#execution,
      interrupt: () => interrupt.call(this.#options),
      nudge: () => connection.nudge(),
      ...(ladder === undefined ? {} : { ladder }),
      ...(clock === undefined ? {} : { clock }),
    }).finally(() => {
      this.#climb = undefined;
    });
    return this.#climb;
  }
}

const NOT_RUNNING: InterruptReport = {
  outcome: "not_running",
  idleSeen: false,
  elapsedMs: 0,
  interruptsSent: 0,
};
