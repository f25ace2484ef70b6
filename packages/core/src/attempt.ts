/**
 * One run of one task in this process: its lease, the handler's context, and its outcome. Whatever the handler
 * does, the attempt ends in exactly one terminal write or learns that somebody else's stands.
 */
import { CancelSource, HandedOverError } from "./cancel-source.js";
import type {
  HandlerOutcome,
  Interrupt,
  InterruptOptions,
  LogMessage,
  QuestionRequest,
  ResumeHandler,
  TaskHandle,
  ToolContext,
  ToolDefinition,
} from "./context.js";
import { QuestionWithdrawnError, runInTask } from "./context.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import type { Flusher } from "./flusher.js";
import { storableOutcome, thrownOutcome } from "./handler-outcome.js";
import { InterruptLadder, type StopResult } from "./interrupt-ladder.js";
import type { JsonObject, JsonValue } from "./json.js";
import { describeError, type Logger } from "./logger.js";
import { OpenQuestions } from "./open-questions.js";
import { type Report, Reporter } from "./reporter.js";
import { RunLimit } from "./run-limit.js";
import type { Settings } from "./runtime-options.js";
import { assertCheckpoint, questionTooLarge } from "./size-limits.js";
import { boundedText, messageOf } from "./status-message.js";
import type { Outcome, Progress, Question, TaskRecord } from "./task.js";
import { isTerminal } from "./task.js";
import { backOffOf, policyOf, resumeOf, retryAfter, triesOf } from "./tool-recovery.js";
import type { AttemptEvent, Refusal } from "./transitions.js";

/** What an event came to: the record as it now is, and why the event was refused if it was. `null`: no such record. */
export type Applied = { task: TaskRecord; refused?: Refusal } | null;

/** What an attempt needs of the runtime. */
export interface AttemptHost {
  readonly logger: Logger;
  /** For what a store that is out makes many tasks say. */
  readonly outageLogger: Logger;
  readonly deadlines: Deadlines;
  /** By {@link AttemptHost.elapsed}. */
  readonly runDeadlines: Deadlines;
  readonly flusher: Flusher;
  readonly settings: Settings;
  now(): number;
  /** Milliseconds that grow by what passes while this process can run. */
  elapsed(): number;
  /** The deadline of a lease taken or renewed now. */
  leaseUntilAt(): number;
  /** Whether somebody will be there to try again. */
  mayRetry(): boolean;
  /** Decides and writes `event`, reading anew as long as others write in between. */
  apply(task: TaskRecord, event: AttemptEvent | { type: "request_cancel" }): Promise<Applied>;
  tellProgress(taskId: string, progress: Progress): void;
  /** Answers whether somebody hears it. */
  tellLog(taskId: string, message: LogMessage): boolean;
  pause(delayMs: number): Promise<void>;
  /** The handler waits for a person, or goes on. */
  setWaiting(taskId: string, isWaiting: boolean): void;
  /** The attempt is over and its handler does not run: nothing of it is needed any more. */
  left(attempt: RunningAttempt): void;
}

/** What the handler is called with beside its context's helpers. Handed over in this process, or read from the record. */
export interface Call {
  arguments: JsonObject;
  request?: JsonObject;
  input?: unknown;
}

const NOTHING: Call = { arguments: {} };

/** How long to wait before a store that is out is tried again; the last one repeats. */
const RETRY_MS = [50, 200, 1000, 2000, 5000];

export class RunningAttempt implements TaskHandle {
  readonly taskId: string;
  readonly owner: string;
  /** How long it is waited for when it is stopped, and again after escalating. */
  readonly graceMs: number;
  readonly #host: AttemptHost;
  readonly #tool: ToolDefinition;
  readonly #epoch: number;
  readonly #cancelSource = new CancelSource();
  readonly #ladder: InterruptLadder;
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
  #reporter: Reporter | undefined;
  #questions: OpenQuestions | undefined;
  #runLimit: RunLimit | undefined;
  /** When the lease as it stands was taken, by {@link AttemptHost.elapsed}: no setting of the time makes it last. */
  #leasedAt: number;
  /** Set while a renewal is on its way: when the lease passes, whatever becomes of that. */
  #leaseEnd: Deadline | undefined;
  #onLeft: (() => void)[] | undefined;

  constructor(host: AttemptHost, tool: ToolDefinition, task: TaskRecord, call: Call) {
    this.#host = host;
    this.#tool = tool;
    this.#task = task;
    this.#call = call;
    this.taskId = task.taskId;
    this.owner = task.owner;
    this.graceMs = tool.cancelGraceMs ?? host.settings.cancelGraceMs;
    this.#epoch = task.attempt.epoch;
    this.#ladder = new InterruptLadder(host, task.taskId, this.graceMs);
    this.#leasedAt = host.elapsed();
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
  get #isOpen(): boolean {
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
      () => ({ type: "start", epoch: this.#epoch, leaseUntilAt: this.#host.leaseUntilAt() }),
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
      const outcome = await runInTask(this, () => this.#begin());
      return storableOutcome(outcome, this.#host.settings.maxResultBytes);
    } catch (error) {
      return { ...thrownOutcome(error), retry: retryAfter(error, this.#tool.recovery) };
    }
  }

  #begin(): ReturnType<ToolDefinition["handler"]> {
    const { handler } = this.#tool;
    const resume = this.#resume;
    const context = this.#context();
    if (resume === undefined) return handler(this.#call.arguments, context);
    return resume(this.#call.arguments, context, this.#task?.checkpoint);
  }

  /** What goes on with the work that an earlier attempt began; `undefined` where none has, or that is the tool's handler. */
  get #resume(): ResumeHandler | undefined {
    return this.#ranBeforeMs() === undefined ? undefined : resumeOf(this.#tool.recovery);
  }

  #context(): ToolContext {
    const cancelSource = this.#cancelSource;
    return {
      get signal() {
        return cancelSource.signal;
      },
      cancelToken: cancelSource,
      task: this,
      sendProgress: (current, options) => this.sendProgress(current, options),
      log: (level, data, logger) =>
        this.#isOpen && this.#host.tellLog(this.taskId, { level, data, ...(logger !== undefined && { logger }) }),
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
    const { tries } = task.attempt;
    const most = triesOf(this.#tool.recovery, this.#host.settings.maxTries);
    if (tries >= most || ranMs >= (task.maxRunMs ?? Number.POSITIVE_INFINITY)) return undefined;
    const pauseMs = afterMs ?? backOffOf(this.#tool.recovery, tries);
    const again = `Try ${tries} of ${most} failed; the next one begins in ${seconds(pauseMs)}.`;
    return {
      type: "retry",
      epoch: this.#epoch,
      notBeforeAt: this.#host.now() + pauseMs,
      ranMs,
      statusMessage: boundedText(`${again} ${outcome.message}`),
      ...this.#reporter?.last({ outputs: true }),
    };
  }

  #finishEvent(outcome: Outcome, statusMessage: string | undefined = messageOf(outcome)): AttemptEvent {
    const report = this.#reporter?.last({ outputs: outcome.kind === "threw" || outcome.kind === "protocol_error" });
    const event: AttemptEvent = { type: "finish", epoch: this.#epoch, outcome, ...report };
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
        return await this.#apply(event());
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
  async #apply(event: AttemptEvent | { type: "request_cancel" }): Promise<boolean> {
    const applied = await this.#applied(event);
    return applied !== null && applied.refused === undefined;
  }

  async #applied(event: AttemptEvent | { type: "request_cancel" }): Promise<Applied> {
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
    this.#reporter?.close();
    this.#runLimit?.pause();
    this.#leaseEnd?.cancel();
    this.#questions?.withdrawAll("task_ended");
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
    const isMine = task.attempt.epoch === this.#epoch && task.attempt.state === "leased";
    if (isTerminal(task) || !isMine) {
      this.#finished(isTerminal(task) ? "ended" : "lost");
      return;
    }
    this.#questions?.look(task.questions);
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
        epoch: this.#epoch,
        how,
        ...this.#reporter?.last({ outputs: true }),
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
      await this.#apply({ type: "request_cancel" });
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
    this.#questions?.withdrawAll("task_ended");
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
    this.#questions?.withdrawAll("task_ended");
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
    const event: AttemptEvent = { type: "release", epoch: this.#epoch };
    if (how === "not_started") return event;
    const statusMessage = "Its server shut down; the task goes on when the next one takes it up.";
    return Object.assign(
      event,
      { ranMs: this.#runLimit?.ranMs ?? 0, statusMessage },
      this.#reporter?.last({ outputs: true }),
    );
  }

  /** Writes nothing more; whoever finds the lease run out decides. */
  abandon(): void {
    this.#finished("lost");
  }

  /** Puts off the lease's deadline. A lease that is lost, or could not be renewed in time, stops the work. */
  async renew(): Promise<void> {
    if (this.#over) return;
    const { elapsed, runDeadlines } = this.#host;
    const { leaseMs } = this.#host.settings;
    const renewedAt = elapsed();
    let why = "the store has not answered";
    this.#leaseEnd ??= runDeadlines.at(this.#leasedAt + leaseMs, () => this.#leaseHasPassed(why));
    try {
      const event: AttemptEvent = { type: "renew", epoch: this.#epoch, leaseUntilAt: this.#host.leaseUntilAt() };
      if (this.#runLimit !== undefined) event.ranMs = this.#runLimit.ranMs;
      await this.#apply(event);
      this.#leasedAt = renewedAt;
      this.#leaseEnd?.cancel();
      this.#leaseEnd = undefined;
    } catch (error) {
      why = describeError(error);
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

  // --- what the tool says ----------------------------------------------------------------------------------------

  sendProgress(current: number, { total, message }: { total?: number; message?: string } = {}): boolean {
    if (!this.#isOpen || !Number.isFinite(current)) return false;
    const progress: Progress = { current };
    if (total !== undefined && Number.isFinite(total)) progress.total = total;
    if (message !== undefined) progress.message = boundedText(message);
    this.#host.tellProgress(this.taskId, progress);
    this.#report().progress(progress);
    return true;
  }

  recordOutput(outputsSoFar: readonly JsonValue[]): boolean {
    if (!this.#isOpen) return false;
    this.#report().outputs(outputsSoFar);
    return true;
  }

  #report(): Reporter {
    const { flusher } = this.#host;
    const { maxOutputBytes } = this.#host.settings;
    this.#reporter ??= new Reporter({ flusher, maxOutputBytes, write: (report) => this.#writeReport(report) });
    return this.#reporter;
  }

  async #writeReport(report: Report): Promise<void> {
    try {
      await this.#apply({ type: "report", epoch: this.#epoch, ...report });
    } catch (error) {
      this.#host.outageLogger.warn(
        { taskId: this.taskId, error: describeError(error) },
        "a report could not be written; trying again",
      );
      throw error;
    }
  }

  registerInterrupt(stop: Interrupt, options: InterruptOptions = {}): boolean {
    if (this.#work !== "running") return false;
    this.#ladder.register(stop, options.escalate);
    return true;
  }

  requireInput(message: string): Promise<boolean> {
    return this.#setStatus("input_required", message);
  }

  setWorking(message?: string): Promise<boolean> {
    return this.#setStatus("working", message);
  }

  #setStatus(status: "input_required" | "working", message: string | undefined): Promise<boolean> {
    const event: AttemptEvent = { type: "set_status", epoch: this.#epoch, status };
    if (message !== undefined) event.message = boundedText(message);
    this.#reporter?.messageIsOver();
    return this.#say(event);
  }

  async checkpoint(value: JsonValue): Promise<boolean> {
    assertCheckpoint(value, this.#host.settings.maxCheckpointBytes);
    return this.#say({ type: "checkpoint", epoch: this.#epoch, checkpoint: value });
  }

  async #say(event: AttemptEvent): Promise<boolean> {
    return this.#isOpen ? this.#apply(event) : false;
  }

  // --- questions -------------------------------------------------------------------------------------------------

  async ask(request: QuestionRequest): Promise<JsonObject> {
    if (!this.#isOpen) throw new QuestionWithdrawnError("task_ended");
    this.#questions ??= this.#openQuestions();
    return this.#questions.ask(request);
  }

  #openQuestions(): OpenQuestions {
    return new OpenQuestions({
      deadlines: this.#host.deadlines,
      now: () => this.#host.now(),
      recorded: () => this.#task?.questions ?? [],
      put: (question) => this.#putQuestion(question),
      withdraw: (key) => this.#withdraw(key),
    });
  }

  /** @throws TaskError `too_large` */
  async #putQuestion(question: Question): Promise<boolean> {
    if (!this.#isOpen) return false;
    const mostBytes = this.#host.settings.maxQuestionsBytes;
    const applied = await this.#applied({ type: "ask", epoch: this.#epoch, question, mostBytes });
    if (applied?.refused === "too_large") throw questionTooLarge(applied.task.questions, question, mostBytes);
    return applied !== null && applied.refused === undefined;
  }

  async #withdraw(key: string): Promise<void> {
    try {
      await this.#apply({ type: "withdraw", epoch: this.#epoch, key });
    } catch (error) {
      this.#host.logger.error(
        { taskId: this.taskId, error: describeError(error) },
        "a question that timed out could not be withdrawn",
      );
    }
  }
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}
