/** The handler's side of its attempt: what the tool says of its task and asks of people, for as long as that counts. */
import { type AttemptHost, isTaken } from "./attempt-host.js";
import {
  type Interrupt,
  type InterruptOptions,
  type Log,
  type QuestionRequest,
  QuestionWithdrawnError,
} from "./context.js";
import type { InterruptLadder } from "./interrupt-ladder.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { LeasedTask } from "./leased-task.js";
import { describeError } from "./logger.js";
import { OpenQuestions } from "./open-questions.js";
import { type Report, Reporter } from "./reporter.js";
import { assertCheckpoint, questionTooLarge } from "./size-limits.js";
import { boundedText } from "./status-message.js";
import type { StrayErrorTaker } from "./stray-errors.js";
import type { Progress, Question } from "./task.js";
import type { AttemptEvent } from "./transitions.js";

/** The attempt, as its handle knows it. */
export type HandledAttempt = LeasedTask & Pick<StrayErrorTaker, "fail">;

export class AttemptHandle implements StrayErrorTaker {
  readonly taskId: string;
  readonly #attempt: HandledAttempt;
  readonly #host: AttemptHost;
  readonly #ladder: InterruptLadder;
  #reporter: Reporter | undefined;
  #questions: OpenQuestions | undefined;
  #isSettled = false;

  constructor(attempt: HandledAttempt, host: AttemptHost, ladder: InterruptLadder) {
    this.taskId = attempt.taskId;
    this.#attempt = attempt;
    this.#host = host;
    this.#ladder = ladder;
  }

  // --- for the attempt -------------------------------------------------------------------------------------------

  /** What has been said and is not written yet, for the attempt's last move. */
  lastReport(options: { outputs: boolean }): Report | undefined {
    return this.#reporter?.last(options);
  }

  /** Hears the answers that the record has. */
  look(questions: readonly Question[]): void {
    this.#questions?.look(questions);
  }

  /** Whoever waits for a person is told that nobody will answer. */
  withdrawQuestions(): void {
    this.#questions?.withdrawAll("task_ended");
  }

  /** The handler has ended: what it left behind says nothing more. */
  settled(): void {
    this.#isSettled = true;
  }

  /** Nothing more is written. */
  close(): void {
    this.#reporter?.close();
    this.withdrawQuestions();
  }

  /** Whether what the tool says still counts. */
  get #isOpen(): boolean {
    return !this.#isSettled && !this.#attempt.isOver;
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

  log(...[level, data, logger]: Parameters<Log>): boolean {
    return this.#isOpen && this.#host.tellLog(this.taskId, { level, data, ...(logger !== undefined && { logger }) });
  }

  recordOutput(outputsSoFar: readonly JsonValue[]): boolean {
    if (!this.#isOpen) return false;
    this.#report().outputs(outputsSoFar);
    return true;
  }

  #report(): Reporter {
    const { flusher, settings } = this.#host;
    const { maxOutputBytes } = settings;
    this.#reporter ??= new Reporter({ flusher, maxOutputBytes, write: (report) => this.#writeReport(report) });
    return this.#reporter;
  }

  async #writeReport(report: Report): Promise<void> {
    try {
      await this.#attempt.write({ type: "report", epoch: this.#attempt.epoch, ...report });
    } catch (error) {
      this.#host.outageLogger.warn(
        { taskId: this.taskId, error: describeError(error) },
        "a report could not be written; trying again",
      );
      throw error;
    }
  }

  registerInterrupt(stop: Interrupt, options: InterruptOptions = {}): boolean {
    if (this.#isSettled) return false;
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
    const event: AttemptEvent = { type: "set_status", epoch: this.#attempt.epoch, status };
    if (message !== undefined) event.message = boundedText(message);
    this.#reporter?.messageIsOver();
    return this.#say(event);
  }

  async checkpoint(value: JsonValue): Promise<boolean> {
    assertCheckpoint(value, this.#host.settings.maxCheckpointBytes);
    return this.#say({ type: "checkpoint", epoch: this.#attempt.epoch, checkpoint: value });
  }

  async #say(event: AttemptEvent): Promise<boolean> {
    return this.#isOpen && isTaken(await this.#attempt.write(event));
  }

  /** An error that the handler left behind, thrown from a timer or an unhandled rejection. */
  fail(error: unknown): void {
    this.#attempt.fail(error);
  }

  // --- what it asks ----------------------------------------------------------------------------------------------

  async ask(request: QuestionRequest): Promise<JsonObject> {
    if (!this.#isOpen) throw new QuestionWithdrawnError("task_ended");
    this.#questions ??= this.#openQuestions();
    return this.#questions.ask(request);
  }

  #openQuestions(): OpenQuestions {
    return new OpenQuestions({
      deadlines: this.#host.deadlines,
      now: () => this.#host.now(),
      recorded: () => this.#attempt.record?.questions ?? [],
      put: (question) => this.#putQuestion(question),
      withdraw: (key) => this.#withdraw(key),
    });
  }

  /** @throws TaskError `too_large` */
  async #putQuestion(question: Question): Promise<boolean> {
    if (!this.#isOpen) return false;
    const { epoch } = this.#attempt;
    const mostBytes = this.#host.settings.maxQuestionsBytes;
    const applied = await this.#attempt.write({ type: "ask", epoch, question, mostBytes });
    if (applied?.refused === "too_large") throw questionTooLarge(applied.task.questions, question, mostBytes);
    return isTaken(applied);
  }

  async #withdraw(key: string): Promise<void> {
    try {
      await this.#attempt.write({ type: "withdraw", epoch: this.#attempt.epoch, key });
    } catch (error) {
      this.#host.logger.error(
        { taskId: this.taskId, error: describeError(error) },
        "a question that timed out could not be withdrawn",
      );
    }
  }
}
