/**
 * One run of one task in this process: its lease, the handler's context, and its outcome. Whatever the handler
 * does, the attempt ends in exactly one terminal write or learns that somebody else's stands.
 */
import { AttemptHandle } from "./attempt-handle.js";
import type { Applied, AttemptHost, Call } from "./attempt-host.js";
import { CancelSource, HandedOverError } from "./cancel-source.js";
import {
  type HandlerOutcome,
  type ResumeHandler,
  runInTask,
  type ToolContext,
  type ToolDefinition,
} from "./context.js";
import { storableOutcome, thrownOutcome } from "./handler-outcome.js";
import { InterruptLadder, type StopResult } from "./interrupt-ladder.js";
import { Lease } from "./lease.js";
import { describeError } from "./logger.js";
import { RunLimit } from "./run-limit.js";
import { boundedText, messageOf } from "./status-message.js";
import { isTerminal, type Outcome, type TaskRecord } from "./task.js";
import { nextTry, policyOf, resumeOf, retryAfter } from "./tool-recovery.js";
import type { AttemptEvent } from "./transitions.js";

/**
 * What a tool says without end must not keep its lease from being renewed: whoever writes with what it has just written is
 * always ahead of whoever has to read first. What is told waits for a renewal that is on its way.
 */
const TOLD: ReadonlySet<string> = new Set<AttemptEvent["type"]>([
  "report",
  "checkpoint",
  "set_status",
  "ask",
  "withdraw",
]);

const NOTHING: Call = { arguments: {} };

const nothing = (): void => {};

/** How long to wait before a store that is out is tried again; the last one repeats. */
const RETRY_MS = [50, 200, 1000, 2000, 5000];

export class RunningAttempt {
  readonly taskId: string;
  readonly epoch: number;
  /** How long it is waited for when it is stopped, and again after escalating. */
  readonly graceMs: number;
  readonly #host: AttemptHost;
  readonly #tool: ToolDefinition;
  readonly #cancelSource = new CancelSource();
  readonly #ladder: InterruptLadder;
  readonly #lease: Lease;
  /** The renewal that is on its way; never rejects. */
  #renewal: Promise<void> | undefined;
  #call: Call;
  /** As last seen; let go once the attempt is over, since whatever the handler left behind holds the attempt. */
  #task: TaskRecord | undefined;
  /** Where the handler stands. While it is `running` there is something to stop, whatever the record says. */
  #work: "waiting" | "running" | "settled" = "waiting";
  /** Set as soon as somebody stops the work on purpose; of what it still brings, only a complete result counts. */
  #stopping = false;
  #isWaiting = false;
  /** The last move, once it is decided: the first to decide it wins. */
  #ending: Promise<void> | undefined;
  /** The record is terminal, or the lease is lost: nothing more can be written. */
  #over = false;
  #cancelled: Promise<void> | undefined;
  #ran: Promise<void> | undefined;
  /** The handler's side, once it has been called. */
  #handle: AttemptHandle | undefined;
  #runLimit: RunLimit | undefined;
  #onLeft: (() => void)[] | undefined;

  constructor(host: AttemptHost, tool: ToolDefinition, task: TaskRecord, call: Call) {
    this.#host = host;
    this.#tool = tool;
    this.#task = task;
    this.#call = call;
    this.taskId = task.taskId;
    this.graceMs = tool.cancelGraceMs ?? host.settings.cancelGraceMs;
    this.epoch = task.attempt.epoch;
    this.#ladder = new InterruptLadder(host, task.taskId, this.graceMs);
    this.#lease = new Lease(host, { renew: () => this.#renewLease(), onPassed: (why) => this.#leaseHasPassed(why) });
  }

  /** The record as last seen; `undefined` once the attempt is over. */
  get task(): TaskRecord | undefined {
    return this.#task;
  }

  /** Whether nothing can be written by this attempt any more. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Whether the handler has begun and not yet settled. */
  get isRunning(): boolean {
    return this.#work === "running";
  }

  /** Whether the handler has settled and what it brought is being written. */
  get isEnding(): boolean {
    return this.#ending !== undefined && !this.#over;
  }

  /** Whether what the tool says still counts. */
  get isOpen(): boolean {
    return this.#work === "running" && !this.#over;
  }

  // --- the run ---------------------------------------------------------------------------------------------------

  /** Runs the handler, once. Resolves when it has really settled, which frees its place; never rejects. */
  run(): Promise<void> {
    this.#ran ??= this.#run();
    return this.#ran;
  }

  async #run(): Promise<void> {
    if (!this.#hasStarted() && !(await this.#noteStart())) return;
    if (this.#isCalledOff) return;
    this.#work = "running";
    this.#startRunLimit();
    const outcome = await this.#callHandler();
    this.#settled();
    // Stopped on purpose: whoever stops it writes the end. A complete result that is there after all still wins.
    if (!this.#stopping || outcome.kind === "result") void this.#end(this.#lastMove(outcome));
    this.#leaveIfDone();
  }

  /** Whether the handler is not to be called any more. One whose context is cancelled is called to stop what it finds. */
  get #isCalledOff(): boolean {
    return this.#over || this.#ending !== undefined || (this.#stopping && !this.#cancelSource.isCancelled());
  }

  /** A task that is run at once is created as one that has started. */
  #hasStarted(): boolean {
    const attempt = this.#task?.attempt;
    return attempt?.state === "leased" && attempt.startedAt !== undefined;
  }

  #noteStart(): Promise<boolean> {
    return this.#applyUntilItLands(
      () => ({ type: "start", epoch: this.epoch, leaseUntilAt: this.#host.leaseUntilAt() }),
      () => this.#isCalledOff,
    );
  }

  #startRunLimit(): void {
    const limitMs = this.#task?.maxRunMs;
    const { runDeadlines: deadlines } = this.#host;
    const why = `Stopped after running for its limit of ${limitMs} ms.`;
    const onExceeded = (): void => void this.stopAndFail("run_time_exceeded", why);
    const ranMs = this.#ranBeforeMs() ?? 0;
    this.#runLimit = new RunLimit({ deadlines, limitMs, onExceeded, ranMs, elapsed: () => this.#host.elapsed() });
    this.#runLimit.resume();
  }

  /** How long earlier attempts ran; `undefined` where none has begun. */
  #ranBeforeMs(): number | undefined {
    const attempt = this.#task?.attempt;
    return attempt?.state === "leased" ? attempt.ranMs : undefined;
  }

  async #callHandler(): Promise<HandlerOutcome> {
    try {
      const handle = new AttemptHandle(this, this.#host, this.#ladder);
      this.#handle = handle;
      const outcome = await runInTask(handle, () => this.#begin(handle));
      return storableOutcome(outcome, this.#host.settings.maxResultBytes);
    } catch (error) {
      return { ...thrownOutcome(error), retry: retryAfter(error, this.#tool.recovery) };
    }
  }

  #begin(handle: AttemptHandle): ReturnType<ToolDefinition["handler"]> {
    const { handler } = this.#tool;
    const resume = this.#resume;
    const context = this.#context(handle);
    if (resume === undefined) return handler(this.#call.arguments, context);
    return resume(this.#call.arguments, context, this.#task?.checkpoint);
  }

  /** What goes on with the work that an earlier attempt began; `undefined` where none has, or that is the tool's handler. */
  get #resume(): ResumeHandler | undefined {
    return this.#ranBeforeMs() === undefined ? undefined : resumeOf(this.#tool.recovery);
  }

  #context(handle: AttemptHandle): ToolContext {
    const cancelSource = this.#cancelSource;
    return {
      get signal() {
        return cancelSource.signal;
      },
      cancelToken: cancelSource,
      task: handle,
      sendProgress: (current, options) => handle.sendProgress(current, options),
      log: handle.log,
      request: this.#call.request ?? {},
      input: this.#call.input,
    };
  }

  #settled(): void {
    this.#work = "settled";
    this.#call = NOTHING;
    this.#runLimit?.pause();
    this.#cancelSource.close();
    this.#ladder.settled();
  }

  /** An error that the handler left behind, thrown from a timer or an unhandled rejection. */
  fail(error: unknown): void {
    this.#host.logger.error({ taskId: this.taskId, error: describeError(error) }, "a tool threw outside its call");
    if (!this.#stopping) void this.#end(this.#finishEvent(thrownOutcome(error)));
  }

  // --- the end ---------------------------------------------------------------------------------------------------

  /** What the handler's outcome is to the task: its end, unless another try is to follow. */
  #lastMove({ retry, ...outcome }: HandlerOutcome): AttemptEvent {
    return (retry && this.#retryEvent(outcome, retry.afterMs)) ?? this.#finishEvent(outcome);
  }

  #retryEvent(outcome: Outcome, afterMs: number | undefined): AttemptEvent | undefined {
    const task = this.#task;
    if (task === undefined || outcome.kind !== "threw" || !this.#host.mayRetry()) return undefined;
    const ranMs = this.#runLimit?.ranMs ?? 0;
    if (ranMs >= (task.maxRunMs ?? Number.POSITIVE_INFINITY)) return undefined;
    const next = nextTry(this.#tool.recovery, task.attempt.tries, this.#host.settings.maxTries, afterMs);
    if (next === undefined) return undefined;
    return {
      type: "retry",
      epoch: this.epoch,
      notBeforeAt: this.#host.now() + next.pauseMs,
      ranMs,
      statusMessage: boundedText(`${next.announcement} ${outcome.message}`),
      ...this.#handle?.lastReport({ outputs: true }),
    };
  }

  #finishEvent(outcome: Outcome, statusMessage: string | undefined = messageOf(outcome)): AttemptEvent {
    const report = this.#handle?.lastReport({ outputs: outcome.kind === "threw" || outcome.kind === "protocol_error" });
    const event: AttemptEvent = { type: "finish", epoch: this.epoch, outcome, ...report };
    if (statusMessage !== undefined) event.statusMessage = statusMessage;
    return event;
  }

  /** Writes the last move, unless another one was decided first. Resolves when the attempt is over. */
  #end(event: AttemptEvent): Promise<void> {
    this.#ending ??= this.#writeEnd(event);
    return this.#ending;
  }

  async #writeEnd(event: AttemptEvent): Promise<void> {
    await this.#applyUntilItLands(
      () => event,
      () => this.#over,
    );
    this.#finished("ended");
  }

  /** While the store is out, tries until the event lands or `isMoot`. Answers whether it was taken. */
  async #applyUntilItLands(event: () => AttemptEvent, isMoot: () => boolean): Promise<boolean> {
    for (let tries = 0; !isMoot(); tries += 1) {
      try {
        return await this.apply(event());
      } catch (error) {
        this.#host.outageLogger.error(
          { taskId: this.taskId, error: describeError(error) },
          "the store did not take a task's move; trying again",
        );
      }
      await this.#host.pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] as number);
    }
    return false;
  }

  /** Writes `event`; answers whether it was taken. */
  async apply(event: AttemptEvent | { type: "request_cancel" }): Promise<boolean> {
    const applied = await this.applied(event);
    return applied !== null && applied.refused === undefined;
  }

  /** The same, with the record as it now is. */
  async applied(event: AttemptEvent | { type: "request_cancel" }): Promise<Applied> {
    while (this.#renewal !== undefined && TOLD.has(event.type)) await this.#renewal;
    if (this.#task === undefined) return null;
    const applied = await this.#host.apply(this.#task, event);
    if (applied === null) this.#finished("ended");
    else this.see(applied.task);
    return applied;
  }

  /** `lost`: the task may go on elsewhere. */
  #finished(how: "ended" | "lost"): void {
    if (this.#over) return;
    this.#over = true;
    this.#task = undefined;
    this.#handle?.close();
    this.#runLimit?.pause();
    this.#lease.end();
    // What outlives its task waits for nobody.
    if (this.#work === "running" && this.#isWaiting) this.#host.setWaiting(this.taskId, false);
    // Whoever ended the task, work that still runs has nobody to work for.
    if (this.#work === "running" && !this.#stopping) {
      this.#stopping = true;
      void (how === "lost" ? this.#putDown() : this.#stop());
    }
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (!this.#over || this.#work === "running") return;
    this.#call = NOTHING;
    this.#host.left(this);
    for (const resolve of this.#onLeft ?? []) resolve();
    this.#onLeft = undefined;
  }

  /** Resolves when the handler has settled and the end is written. */
  whenLeft(): Promise<void> {
    if (this.#over && this.#work !== "running") return Promise.resolve();
    this.#onLeft ??= [];
    const waiters = this.#onLeft;
    return new Promise((resolve) => waiters.push(resolve));
  }

  // --- what others do to the task --------------------------------------------------------------------------------

  /** Looks at the record as it now is: an end, a lost lease, a cancellation or an answer that came from elsewhere. */
  see(task: TaskRecord): void {
    if (this.#task === undefined || task.version < this.#task.version) return;
    this.#task = task;
    const isMine = task.attempt.epoch === this.epoch && task.attempt.state === "leased";
    if (isTerminal(task) || !isMine) {
      this.#finished(isTerminal(task) ? "ended" : "lost");
      return;
    }
    this.#handle?.look(task.questions);
    if (this.#work === "running") this.#setWaiting(task.status === "input_required");
    if (task.cancellation !== undefined) void this.cancel();
  }

  /** Waiting for a person is no run time, and takes no place of the runner's. */
  #setWaiting(isWaiting: boolean): void {
    if (isWaiting) this.#runLimit?.pause();
    else this.#runLimit?.resume();
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#host.setWaiting(this.taskId, isWaiting);
  }

  /** Tells the work to stop, waits for it within its grace, and writes the end. Resolves when the attempt is over. */
  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    if (this.#over) return;
    if (this.#ending === undefined) {
      this.#stopping = true;
      void this.#noteCancellation();
      const { how, error } = await this.#stop();
      const event: AttemptEvent = {
        type: "cancel",
        epoch: this.epoch,
        how,
        ...this.#handle?.lastReport({ outputs: true }),
      };
      if (error !== undefined) event.error = error;
      void this.#end(event);
    }
    await this.#ending;
  }

  /** Makes the wish durable, so that a crash in the grace period ends as cancelled; stopping does not wait for it. */
  async #noteCancellation(): Promise<void> {
    if (this.#task?.cancellation !== undefined || this.#work !== "running") return;
    try {
      await this.apply({ type: "request_cancel" });
    } catch (error) {
      this.#host.logger.error(
        { taskId: this.taskId, error: describeError(error) },
        "a cancellation could not be noted; stopping the work all the same",
      );
    }
  }

  async #stop(): Promise<StopResult> {
    if (this.#work === "waiting" && this.#resume === undefined) return { how: "not_started" };
    // Whoever waits for a person cannot stop before it is told that nobody will answer.
    this.#handle?.withdrawQuestions();
    this.#cancelSource.cancel();
    // Nothing but `resume` reaches the work that an earlier attempt left, and for stopping it nobody waits for a turn.
    if (this.#work === "waiting") void this.run();
    return this.#ladder.stop();
  }

  /**
   * Ends the work in this process, for it to be done in another. What is resumed there must not be stopped here: it is only
   * let go of.
   */
  async #putDown(): Promise<StopResult> {
    if (this.#work === "waiting") return { how: "not_started" };
    if (policyOf(this.#tool.recovery) !== "resume") return this.#stop();
    this.#handle?.withdrawQuestions();
    this.#cancelSource.cancel(new HandedOverError());
    return this.#ladder.letEnd();
  }

  /** Ends the task as failed because the engine will not let it go on; the work is told to stop first. */
  async stopAndFail(reason: "run_time_exceeded" | "shutdown", why: string): Promise<void> {
    if (this.#over || this.#stopping || this.#ending !== undefined) return this.#ending;
    this.#stopping = true;
    const { how } = await this.#stop();
    const message = how === "still_running" ? `${why} The work did not stop in time and may still be running.` : why;
    await this.#end(this.#finishEvent({ kind: "threw", reason, message }, message));
  }

  /** Cuts short the wait for work that is being stopped; the task ends with what is known of it. */
  giveUp(): void {
    this.#ladder.giveUp();
  }

  /** Hands the task back to be leased anew, once the work here has stopped. If it does not, the lease is left to run out. */
  async release(): Promise<void> {
    if (this.#over || this.#stopping || this.#ending !== undefined) return this.#ending;
    this.#stopping = true;
    const { how } = await this.#putDown();
    if (how === "still_running") this.abandon();
    else await this.#end(this.#releaseEvent(how));
  }

  #releaseEvent(how: StopResult["how"]): AttemptEvent {
    const event: AttemptEvent = { type: "release", epoch: this.epoch };
    if (how === "not_started") return event;
    const statusMessage = "Its server shut down; the task goes on when the next one takes it up.";
    return Object.assign(
      event,
      { ranMs: this.#runLimit?.ranMs ?? 0, statusMessage },
      this.#handle?.lastReport({ outputs: true }),
    );
  }

  /** Writes nothing more; whoever finds the lease run out decides. */
  abandon(): void {
    this.#finished("lost");
  }

  /** Puts off the lease's deadline. A lease that is lost, or could not be renewed in time, stops the work. */
  async renew(): Promise<void> {
    if (!this.#over) await this.#lease.renew();
  }

  async #renewLease(): Promise<void> {
    const event: AttemptEvent = { type: "renew", epoch: this.epoch, leaseUntilAt: this.#host.leaseUntilAt() };
    if (this.#runLimit !== undefined) event.ranMs = this.#runLimit.ranMs;
    const renewed = this.apply(event);
    const renewal = renewed.then(nothing, nothing);
    this.#renewal = renewal;
    try {
      await renewed;
    } finally {
      if (this.#renewal === renewal) this.#renewal = undefined;
    }
  }

  /** Not a moment later: from now on another process may run the task. */
  #leaseHasPassed(error: string): void {
    if (this.#work !== "running" || this.#over) return;
    this.#host.logger.error(
      { taskId: this.taskId, error },
      "a lease could not be renewed in time; stopping the work, since another process may take it up",
    );
    this.abandon();
  }
}
