/**
 * One run of one task in this process: the handler's call, how it is stopped, and its outcome. Whatever the handler
 * does, the attempt ends in exactly one terminal write or learns that somebody else's stands.
 */
import { AttemptHandle } from "./attempt-handle.js";
import { type AttemptHost, type Call, isTaken, type Move } from "./attempt-host.js";
import { CancelSource, HandedOverError } from "./cancel-source.js";
import { CallContext, type HandlerOutcome, type ResumeHandler, runInTask, type ToolDefinition } from "./context.js";
import { storableOutcome, thrownOutcome } from "./handler-outcome.js";
import { InterruptLadder, type StopResult } from "./interrupt-ladder.js";
import { LeasedTask } from "./leased-task.js";
import { describeError } from "./logger.js";
import { RunLimit } from "./run-limit.js";
import { boundedText, messageOf } from "./status-message.js";
import type { Outcome, TaskRecord } from "./task.js";
import { nextTry, policyOf, resumeOf, retryAfter } from "./tool-recovery.js";

const NOTHING: Call = { arguments: {} };

/** How long to wait before a store that is out is tried again; the last one repeats. */
const RETRY_MS = [50, 200, 1000, 2000, 5000];

export class RunningAttempt extends LeasedTask {
  /** How long it is waited for when it is stopped, and again after escalating. */
  readonly graceMs: number;
  readonly #tool: ToolDefinition;
  readonly #cancelSource = new CancelSource();
  readonly #ladder: InterruptLadder;
  #call: Call;
  /** Where the handler stands. While it is `running` there is something to stop, whatever the record says. */
  #work: "waiting" | "running" | "settled" = "waiting";
  /** Set as soon as somebody stops the work on purpose; of what it still brings, only a complete result counts. */
  #stopping = false;
  #isWaiting = false;
  /** The last move, once it is decided: the first to decide it wins. */
  #ending: Promise<void> | undefined;
  #cancelled: Promise<void> | undefined;
  #ran: Promise<void> | undefined;
  /** The handler's side, once it has been called. */
  #handle: AttemptHandle | undefined;
  #runLimit: RunLimit | undefined;
  #onLeft: (() => void)[] | undefined;

  constructor(host: AttemptHost, tool: ToolDefinition, task: TaskRecord, call: Call) {
    super(host, task);
    this.#tool = tool;
    this.#call = call;
    this.graceMs = tool.cancelGraceMs ?? host.settings.cancelGraceMs;
    this.#ladder = new InterruptLadder(host, task.taskId, this.graceMs);
  }

  /** Whether the handler has begun and not yet settled. */
  get isRunning(): boolean {
    return this.#work === "running";
  }

  /** Whether the handler has settled and what it brought is being written. */
  get isEnding(): boolean {
    return this.#ending !== undefined && !this.isOver;
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
    let outcome: HandlerOutcome;
    try {
      outcome = storableOutcome(await this.#callHandler(), this.host.settings.maxResultBytes);
    } catch (error) {
      outcome = { ...thrownOutcome(error), retry: retryAfter(error, this.#tool.recovery) };
    }
    this.#settled();
    // Stopped on purpose: whoever stops it writes the end. A complete result that is there after all still wins.
    if (!this.#stopping || outcome.kind === "result") void this.#end(this.#lastMove(outcome));
    this.#leaveIfDone();
  }

  /** Whether the handler is not to be called any more. One whose context is cancelled is called to stop what it finds. */
  get #isCalledOff(): boolean {
    return this.isOver || this.#ending !== undefined || (this.#stopping && !this.#cancelSource.isCancelled());
  }

  /** A task that is run at once is created as one that has started. */
  #hasStarted(): boolean {
    const attempt = this.record?.attempt;
    return attempt?.state === "leased" && attempt.startedAt !== undefined;
  }

  #noteStart(): Promise<boolean> {
    return this.#writeUntilItLands(
      () => ({ type: "start", epoch: this.epoch, leaseUntilAt: this.host.leaseUntilAt() }),
      () => this.#isCalledOff,
    );
  }

  #startRunLimit(): void {
    const onExceeded = (limitMs: number): void =>
      void this.stopAndFail("run_time_exceeded", `Stopped after running for its limit of ${limitMs} ms.`);
    this.#runLimit = new RunLimit(this.host, this.record?.maxRunMs, onExceeded, this.#ranBeforeMs() ?? 0);
    this.#runLimit.resume();
  }

  /** How long earlier attempts ran; `undefined` where none has begun. */
  #ranBeforeMs(): number | undefined {
    const attempt = this.record?.attempt;
    return attempt?.state === "leased" ? attempt.ranMs : undefined;
  }

  #callHandler(): ReturnType<ToolDefinition["handler"]> {
    const handle = new AttemptHandle(this, this.host, this.#ladder);
    this.#handle = handle;
    return runInTask(handle, () => this.#begin(handle));
  }

  #begin(handle: AttemptHandle): ReturnType<ToolDefinition["handler"]> {
    const { arguments: args, request = {}, input } = this.#call;
    const context = new CallContext(this.#cancelSource, handle, handle, { request, input });
    const resume = this.#resume;
    if (resume === undefined) return this.#tool.handler(args, context);
    return resume(args, context, this.record?.checkpoint);
  }

  /** What goes on with the work that an earlier attempt began; `undefined` where none has, or that is the tool's handler. */
  get #resume(): ResumeHandler | undefined {
    return this.#ranBeforeMs() === undefined ? undefined : resumeOf(this.#tool.recovery);
  }

  #settled(): void {
    this.#work = "settled";
    this.#call = NOTHING;
    this.#runLimit?.pause();
    this.#cancelSource.close();
    this.#handle?.settled();
    this.#ladder.settled();
  }

  /** An error that the handler left behind, thrown from a timer or an unhandled rejection. */
  fail(error: unknown): void {
    this.host.logger.error({ taskId: this.taskId, error: describeError(error) }, "a tool threw outside its call");
    if (!this.#stopping) void this.#end(this.#finishEvent(thrownOutcome(error)));
  }

  // --- the end ---------------------------------------------------------------------------------------------------

  /** What the handler's outcome is to the task: its end, unless another try is to follow. */
  #lastMove({ retry, ...outcome }: HandlerOutcome): Move {
    return (retry && this.#retryEvent(outcome, retry.afterMs)) ?? this.#finishEvent(outcome);
  }

  #retryEvent(outcome: Outcome, afterMs: number | undefined): Move | undefined {
    const task = this.record;
    if (task === undefined || outcome.kind !== "threw" || !this.host.mayRetry()) return undefined;
    const ranMs = this.ranMs ?? 0;
    if (ranMs >= (task.maxRunMs ?? Number.POSITIVE_INFINITY)) return undefined;
    const next = nextTry(this.#tool.recovery, task.attempt.tries, this.host.settings.maxTries, afterMs);
    if (next === undefined) return undefined;
    return {
      type: "retry",
      epoch: this.epoch,
      notBeforeAt: this.host.now() + next.pauseMs,
      ranMs,
      statusMessage: boundedText(`${next.announcement} ${outcome.message}`),
      ...this.#handle?.lastReport({ outputs: true }),
    };
  }

  #finishEvent(outcome: Outcome, statusMessage: string | undefined = messageOf(outcome)): Move {
    const report = this.#handle?.lastReport({ outputs: outcome.kind === "threw" || outcome.kind === "protocol_error" });
    const event: Move = { type: "finish", epoch: this.epoch, outcome, ...report };
    if (statusMessage !== undefined) event.statusMessage = statusMessage;
    return event;
  }

  /** Writes the last move, unless another one was decided first. Resolves when the attempt is over. */
  #end(move: Move): Promise<void> {
    this.#ending ??= this.#writeUntilItLands(
      () => move,
      () => this.isOver,
    ).then(() => this.letGo("ended"));
    return this.#ending;
  }

  /** While the store is out, tries until the move lands or `isMoot`. Answers whether it was taken. */
  async #writeUntilItLands(move: () => Move, isMoot: () => boolean): Promise<boolean> {
    for (let tries = 0; !isMoot(); tries += 1) {
      try {
        return isTaken(await this.write(move()));
      } catch (error) {
        this.host.outageLogger.error(
          { taskId: this.taskId, error: describeError(error) },
          "the store did not take a task's move; trying again",
        );
      }
      await this.host.pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] as number);
    }
    return false;
  }

  protected over(how: "ended" | "lost"): void {
    this.#handle?.close();
    this.#runLimit?.pause();
    // What outlives its task waits for nobody.
    if (this.#work === "running" && this.#isWaiting) this.host.setWaiting(this.taskId, false);
    // Whoever ended the task, work that still runs has nobody to work for.
    if (this.#work === "running" && !this.#stopping) {
      this.#stopping = true;
      void (how === "lost" ? this.#putDown() : this.#stop());
    }
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (!this.isOver || this.#work === "running") return;
    this.#call = NOTHING;
    this.host.left(this);
    for (const resolve of this.#onLeft ?? []) resolve();
    this.#onLeft = undefined;
  }

  /** Resolves when the handler has settled and the end is written. */
  whenLeft(): Promise<void> {
    if (this.isOver && this.#work !== "running") return Promise.resolve();
    this.#onLeft ??= [];
    const waiters = this.#onLeft;
    return new Promise((resolve) => waiters.push(resolve));
  }

  // --- what others do to the task --------------------------------------------------------------------------------

  protected seen(record: TaskRecord): void {
    this.#handle?.look(record.questions);
    if (this.#work === "running") this.#setWaiting(record.status === "input_required");
    if (record.cancellation !== undefined) void this.cancel();
  }

  /** Waiting for a person is no run time, and takes no place of the runner's. */
  #setWaiting(isWaiting: boolean): void {
    if (isWaiting) this.#runLimit?.pause();
    else this.#runLimit?.resume();
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.host.setWaiting(this.taskId, isWaiting);
  }

  /** Tells the work to stop, waits for it within its grace, and writes the end. Resolves when the attempt is over. */
  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    if (this.isOver) return;
    if (this.#ending === undefined) {
      this.#stopping = true;
      void this.#noteCancellation();
      const { how, error } = await this.#stop();
      const event: Move = {
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
    if (this.record?.cancellation !== undefined || this.#work !== "running") return;
    try {
      await this.write({ type: "request_cancel" });
    } catch (error) {
      this.host.logger.error(
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
    if (this.isOver || this.#stopping || this.#ending !== undefined) return this.#ending;
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
    if (this.isOver || this.#stopping || this.#ending !== undefined) return this.#ending;
    this.#stopping = true;
    const { how } = await this.#putDown();
    if (how === "still_running") this.abandon();
    else await this.#end(this.#releaseEvent(how));
  }

  #releaseEvent(how: StopResult["how"]): Move {
    const event: Move = { type: "release", epoch: this.epoch };
    if (how === "not_started") return event;
    const statusMessage = "Its server shut down; the task goes on when the next one takes it up.";
    return Object.assign(event, { ranMs: this.ranMs ?? 0, statusMessage }, this.#handle?.lastReport({ outputs: true }));
  }

  protected get ranMs(): number | undefined {
    return this.#runLimit?.ranMs;
  }

  /** Not a moment later than the lease passes: another process may run the task. */
  protected leasePassed(error: string): void {
    if (this.#work !== "running" || this.isOver) return;
    this.host.logger.error(
      { taskId: this.taskId, error },
      "a lease could not be renewed in time; stopping the work, since another process may take it up",
    );
    this.abandon();
  }
}
