/**
 * One run of one task in this process: its lease, the handler's context, and its outcome. Whatever the handler
 * does, the attempt ends in exactly one terminal write or learns that somebody else's stands.
 */
import { CancelSource } from "./cancel-source.js";
import type {
  Interrupt,
  InterruptOptions,
  QuestionRequest,
  TaskHandle,
  ToolContext,
  ToolDefinition,
} from "./context.js";
import { QuestionWithdrawnError, runInTask } from "./context.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import type { Flushable, Flusher } from "./flusher.js";
import { questionKey } from "./ids.js";
import { InterruptLadder, type StopResult } from "./interrupt-ladder.js";
import type { JsonObject, JsonValue } from "./json.js";
import { describeError, type Logger } from "./logger.js";
import { boundOutputs } from "./output.js";
import type { Outcome, Progress, Question, TaskRecord } from "./task.js";
import { isTerminal } from "./task.js";
import type { AttemptEvent, TaskEvent, Transition } from "./transitions.js";

/** What an event came to: the record as it now is, and why the event was refused if it was. `null`: no such record. */
export type Applied = { task: TaskRecord; refused?: Extract<Transition, { refused: unknown }>["refused"] } | null;

/** What an attempt needs of the runtime. */
export interface AttemptHost {
  readonly logger: Logger;
  readonly deadlines: Deadlines;
  readonly flusher: Flusher;
  readonly cancelGraceMs: number;
  readonly maxOutputBytes: number;
  readonly maxResultBytes: number;
  now(): number;
  /** The deadline of a lease taken or renewed now. */
  leaseUntilAt(): number;
  /** Decides and writes `event`, reading anew as long as others write in between. */
  apply(task: TaskRecord, event: TaskEvent): Promise<Applied>;
  tellProgress(taskId: string, progress: Progress): void;
  pause(delayMs: number): Promise<void>;
}

interface PendingReport {
  progress?: Progress;
  statusMessage?: string;
  outputs?: readonly JsonValue[];
}

interface OpenQuestion {
  resolve: (answer: JsonObject) => void;
  reject: (error: QuestionWithdrawnError) => void;
  deadline: Deadline | undefined;
}

/** A store that is out is tried again this often before the lease decides. */
const RETRY_MS = [50, 200, 1000, 2000];

export class RunningAttempt implements TaskHandle, Flushable {
  readonly taskId: string;
  readonly owner: string;
  readonly #host: AttemptHost;
  readonly #tool: ToolDefinition;
  readonly #input: unknown;
  readonly #epoch: number;
  readonly #cancelSource = new CancelSource();
  readonly #ladder: InterruptLadder;
  #task: TaskRecord;
  #pending: PendingReport | undefined;
  #outputs: readonly JsonValue[] | undefined;
  /** The handler is running: from now until it settles there is something to stop. */
  #running = false;
  /** The record is terminal, or the lease is lost: nothing more can be written. */
  #over = false;
  /** Set as soon as somebody stops the work on purpose; only a complete result then still counts. */
  #stopping = false;
  #cancelled: Promise<void> | undefined;
  #questions: Map<string, OpenQuestion> | undefined;
  readonly #settledWaiters: (() => void)[] = [];
  #runDeadline: Deadline | undefined;
  #runLeftMs: number | undefined;
  #runSinceAt = 0;

  constructor(host: AttemptHost, tool: ToolDefinition, task: TaskRecord, input: unknown) {
    this.#host = host;
    this.#tool = tool;
    this.#task = task;
    this.#input = input;
    this.taskId = task.taskId;
    this.owner = task.owner;
    this.#epoch = task.attempt.epoch;
    this.#runLeftMs = task.maxRunMs;
    this.#ladder = new InterruptLadder({
      logger: host.logger,
      deadlines: host.deadlines,
      now: () => host.now(),
      graceMs: tool.cancelGraceMs ?? host.cancelGraceMs,
      taskId: task.taskId,
    });
  }

  /** The record as last seen. */
  get task(): TaskRecord {
    return this.#task;
  }

  /** Whether the record can still be written by this attempt. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Whether the handler has begun and not yet settled. */
  get isRunning(): boolean {
    return this.#running;
  }

  /** Whether what the tool says still counts. */
  get #isOpen(): boolean {
    return this.#running && !this.#over;
  }

  // --- the run ---------------------------------------------------------------------------------------------------

  /** Runs the handler to its very end. Resolves when it has really settled and the outcome is written; never rejects. */
  async run(): Promise<void> {
    if (!(await this.#start())) return;
    this.#resumeRunClock();
    const outcome = await this.#callHandler();
    this.#settled();
    // Stopped on purpose: whoever stops it writes the end. A complete result that is there after all still wins.
    if (this.#stopping && outcome.kind !== "result") return;
    await this.#finish(outcome);
    this.#cancelSource.close();
  }

  async #start(): Promise<boolean> {
    if (this.#over || this.#stopping) return false;
    const { attempt } = this.#task;
    if (attempt.state === "leased" && attempt.startedAt === undefined) {
      const started = await this.#apply({ type: "start", epoch: this.#epoch, leaseUntilAt: this.#host.leaseUntilAt() });
      if (!started) return false;
    }
    if (this.#over || this.#stopping) return false;
    this.#running = true;
    return true;
  }

  #settled(): void {
    this.#running = false;
    this.#pauseRunClock();
    this.#ladder.settled();
    for (const resolve of this.#settledWaiters.splice(0)) resolve();
  }

  /** Resolves when the handler has settled; at once if it does not run. */
  whenSettled(): Promise<void> {
    return this.#running ? new Promise((resolve) => this.#settledWaiters.push(resolve)) : Promise.resolve();
  }

  async #callHandler(): Promise<Outcome> {
    try {
      return await runInTask(this, () => this.#tool.handler(this.#task.arguments, this.#context()));
    } catch (error) {
      return { kind: "threw", message: error instanceof Error ? error.message : String(error) };
    }
  }

  #context(): ToolContext {
    const cancelSource = this.#cancelSource;
    return {
      get signal() {
        return cancelSource.signal;
      },
      cancelToken: cancelSource,
      task: this,
      request: this.#task.request ?? {},
      input: this.#input,
      resumeFrom: this.#task.checkpoint,
    };
  }

  /** An error that the handler left behind, thrown from a timer or an unhandled rejection. */
  fail(error: unknown): void {
    this.#host.logger.error({ taskId: this.taskId, error: describeError(error) }, "a tool threw outside its call");
    if (this.#over || this.#stopping) return;
    void this.#finish({ kind: "threw", message: error instanceof Error ? error.message : String(error) });
  }

  /** Writes the outcome; while the store is out, tries until it lands or the lease is lost. */
  async #finish(outcome: Outcome, statusMessage: string | undefined = messageOf(outcome)): Promise<void> {
    const event: AttemptEvent = { type: "finish", epoch: this.#epoch, outcome: this.#withinLimit(outcome) };
    const message = event.outcome === outcome ? statusMessage : messageOf(event.outcome);
    if (message !== undefined) event.statusMessage = message;
    const partialOutput = this.#boundedOutputs();
    if (partialOutput !== undefined) event.partialOutput = partialOutput;
    await this.#applyUntilItLands(event);
    this.#end();
  }

  #withinLimit(outcome: Outcome): Outcome {
    if (outcome.kind !== "result" && outcome.kind !== "error_result") return outcome;
    const problem = resultProblem(outcome.result, this.#host.maxResultBytes);
    return problem === undefined ? outcome : { kind: "threw", reason: "result_too_large", message: problem };
  }

  async #applyUntilItLands(event: TaskEvent): Promise<void> {
    for (let tries = 0; !this.#over; tries += 1) {
      try {
        await this.#apply(event);
        return;
      } catch (error) {
        this.#host.logger.error(
          { taskId: this.taskId, error: describeError(error) },
          "the store did not take a task's last move; trying again",
        );
        await this.#host.pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] as number);
      }
    }
  }

  /** Writes `event`; answers whether it was taken. */
  async #apply(event: TaskEvent): Promise<boolean> {
    const applied = await this.#host.apply(this.#task, event);
    if (applied === null) {
      this.#end();
      return false;
    }
    this.see(applied.task);
    return applied.refused === undefined;
  }

  // --- what others do to the task --------------------------------------------------------------------------------

  /** Looks at the record as it now is: an end, a lost lease, a cancellation or an answer that came from elsewhere. */
  see(task: TaskRecord): void {
    if (task.version < this.#task.version) return;
    this.#task = task;
    if (isTerminal(task) || task.attempt.epoch !== this.#epoch || task.attempt.state !== "leased") {
      this.#end();
      return;
    }
    this.#settleQuestions(task);
    if (task.status === "input_required") this.#pauseRunClock();
    else if (this.#running) this.#resumeRunClock();
    if (task.cancellation !== undefined) void this.cancel();
  }

  /** Tells the work to stop, waits for it within its grace, and writes the end. Resolves when the record is terminal. */
  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    this.#stopping = true;
    const asked = this.#noteCancellation();
    const stopped = await this.#stop();
    await asked;
    const event: TaskEvent = { type: "cancel", how: stopped.how };
    if (stopped.error !== undefined) event.error = stopped.error;
    const partialOutput = this.#boundedOutputs();
    if (partialOutput !== undefined) event.partialOutput = partialOutput;
    await this.#applyUntilItLands(event);
    this.#end();
  }

  /** Makes the wish durable, so that a crash in the grace period ends as cancelled; stopping does not wait for it. */
  async #noteCancellation(): Promise<void> {
    if (this.#task.cancellation !== undefined || !this.#running) return;
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
    if (!this.#running) return { how: "not_started" };
    this.#cancelSource.cancel();
    return this.#ladder.stop();
  }

  /** Ends the task as failed because the engine will not let it go on; the work is told to stop first. */
  async stopAndFail(reason: "run_time_exceeded" | "shutdown", why: string): Promise<void> {
    if (this.#over || this.#stopping) return;
    this.#stopping = true;
    const { how } = await this.#stop();
    const message = how === "still_running" ? `${why} The work did not stop in time and may still be running.` : why;
    await this.#finish({ kind: "threw", reason, message }, message);
  }

  /** Hands the task back to be leased anew; the work here is told to stop. */
  async release(): Promise<void> {
    if (this.#over || this.#stopping) return;
    this.#stopping = true;
    await this.#stop();
    await this.#apply({ type: "release", epoch: this.#epoch });
    this.#end();
  }

  /** Puts off the lease's deadline. A refusal means that the lease is lost: the work is told to stop. */
  async renew(): Promise<void> {
    if (this.#over) return;
    await this.#apply({ type: "renew", epoch: this.#epoch, leaseUntilAt: this.#host.leaseUntilAt() });
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pending = undefined;
    this.#outputs = undefined;
    this.#host.flusher.drop(this);
    this.#pauseRunClock();
    for (const question of this.#questions?.values() ?? []) this.#withdraw(question, "task_ended");
    this.#questions = undefined;
    // Whoever ended the task, work that still runs has nobody to work for.
    if (this.#running && !this.#stopping) {
      this.#cancelSource.cancel();
      void this.#ladder.stop();
    }
  }

  // --- what the tool says ----------------------------------------------------------------------------------------

  sendProgress(current: number, options: { total?: number; message?: string } = {}): boolean {
    if (!this.#isOpen) return false;
    const progress: Progress = { current, ...options };
    this.#pending ??= {};
    this.#pending.progress = progress;
    if (options.message !== undefined) this.#pending.statusMessage = options.message;
    this.#host.tellProgress(this.taskId, progress);
    this.#host.flusher.mark(this);
    return true;
  }

  recordOutput(outputsSoFar: readonly JsonValue[]): boolean {
    if (!this.#isOpen) return false;
    // A shallow copy: the tool goes on filling its list, and may empty it.
    this.#outputs = outputsSoFar.slice();
    this.#pending ??= {};
    this.#pending.outputs = this.#outputs;
    this.#host.flusher.mark(this);
    return true;
  }

  registerInterrupt(stop: Interrupt, options: InterruptOptions = {}): boolean {
    if (!this.#running) return false;
    this.#ladder.register(stop, options.escalate);
    return true;
  }

  requireInput(message: string): Promise<boolean> {
    return this.#say({ type: "set_status", epoch: this.#epoch, status: "input_required", message });
  }

  setWorking(message?: string): Promise<boolean> {
    const event: AttemptEvent = { type: "set_status", epoch: this.#epoch, status: "working" };
    if (message !== undefined) event.message = message;
    return this.#say(event);
  }

  checkpoint(value: JsonValue): Promise<boolean> {
    return this.#say({ type: "checkpoint", epoch: this.#epoch, checkpoint: value });
  }

  async #say(event: AttemptEvent): Promise<boolean> {
    return this.#isOpen ? this.#apply(event) : false;
  }

  async flush(): Promise<number> {
    const pending = this.#pending;
    if (pending === undefined || this.#over) return 0;
    this.#pending = undefined;
    const event: AttemptEvent = { type: "report", epoch: this.#epoch };
    if (pending.progress !== undefined) event.progress = pending.progress;
    if (pending.statusMessage !== undefined) event.statusMessage = bounded(pending.statusMessage);
    const outputs =
      pending.outputs === undefined ? undefined : boundOutputs(pending.outputs, this.#host.maxOutputBytes);
    if (outputs !== undefined && outputs.outputs.length > 0) event.partialOutput = outputs.outputs;
    try {
      await this.#apply(event);
    } catch (error) {
      this.#host.logger.warn(
        { taskId: this.taskId, error: describeError(error) },
        "a report could not be written; the next one will say it all",
      );
      this.#pending = { ...pending, ...(this.#pending as PendingReport | undefined) };
    }
    return outputs?.bytes ?? 0;
  }

  /** What goes with the last move; nothing recorded, or an empty list, is nothing produced. */
  #boundedOutputs(): JsonValue[] | undefined {
    if (this.#outputs === undefined || this.#outputs.length === 0) return undefined;
    return boundOutputs(this.#outputs, this.#host.maxOutputBytes).outputs;
  }

  // --- questions -------------------------------------------------------------------------------------------------

  async ask(request: QuestionRequest): Promise<JsonObject> {
    const key = questionKey(this.#task.questions.length);
    const askedAt = this.#host.now();
    const question: Question = { key, method: request.method, params: request.params, askedAt };
    if (request.timeoutMs !== undefined) question.expiresAt = askedAt + request.timeoutMs;
    const answer = this.#await(question);
    // Both are waited for; an early rejection of the answer must not count as unhandled meanwhile.
    answer.catch(() => {});
    const asked = await this.#say({ type: "ask", epoch: this.#epoch, question });
    if (!asked) this.#settle(key, (open) => this.#withdraw(open, "task_ended"));
    return answer;
  }

  #await({ key, expiresAt }: Question): Promise<JsonObject> {
    this.#questions ??= new Map();
    const questions = this.#questions;
    return new Promise((resolve, reject) => {
      const deadline =
        expiresAt === undefined ? undefined : this.#host.deadlines.at(expiresAt, () => void this.#timeOut(key));
      questions.set(key, { resolve, reject, deadline });
    });
  }

  async #timeOut(key: string): Promise<void> {
    try {
      await this.#apply({ type: "withdraw", epoch: this.#epoch, key });
    } catch (error) {
      this.#host.logger.error(
        { taskId: this.taskId, error: describeError(error) },
        "a question that timed out could not be withdrawn",
      );
    }
    this.#settle(key, (open) => this.#withdraw(open, "timed_out"));
  }

  #settleQuestions(task: TaskRecord): void {
    if (this.#questions === undefined || this.#questions.size === 0) return;
    for (const { key, answer, withdrawnAt } of task.questions) {
      if (answer !== undefined) this.#settle(key, (open) => open.resolve(answer));
      else if (withdrawnAt !== undefined) this.#settle(key, (open) => this.#withdraw(open, "timed_out"));
    }
  }

  #settle(key: string, how: (open: OpenQuestion) => void): void {
    const open = this.#questions?.get(key);
    if (open === undefined) return;
    this.#questions?.delete(key);
    open.deadline?.cancel();
    how(open);
  }

  #withdraw(open: OpenQuestion, reason: "timed_out" | "task_ended"): void {
    open.deadline?.cancel();
    open.reject(new QuestionWithdrawnError(reason));
  }

  // --- the run-time limit, which time spent waiting for a person does not use up ---------------------------------

  #resumeRunClock(): void {
    if (this.#runLeftMs === undefined || this.#runDeadline !== undefined || this.#over) return;
    this.#runSinceAt = this.#host.now();
    this.#runDeadline = this.#host.deadlines.at(this.#runSinceAt + this.#runLeftMs, () => {
      void this.stopAndFail("run_time_exceeded", `Stopped after running for its limit of ${this.#task.maxRunMs} ms.`);
    });
  }

  #pauseRunClock(): void {
    if (this.#runDeadline === undefined || this.#runLeftMs === undefined) return;
    this.#runDeadline.cancel();
    this.#runDeadline = undefined;
    this.#runLeftMs = Math.max(0, this.#runLeftMs - (this.#host.now() - this.#runSinceAt));
  }
}

/** Longest status message, in UTF-16 units: it goes out with every poll. */
const MAX_STATUS_MESSAGE = 1000;

function bounded(message: string): string {
  if (message.length <= MAX_STATUS_MESSAGE) return message;
  return `${message.slice(0, MAX_STATUS_MESSAGE - 1).toWellFormed()}…`;
}

/** Clients that do not fetch a failed result read why in the status message. */
function messageOf(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case "result":
      return undefined;
    case "threw":
      return bounded(outcome.message);
    case "protocol_error":
      return bounded(outcome.error.message);
    case "error_result":
      return bounded(textOf(outcome.result)) || undefined;
  }
}

/** The text of a tool result's content blocks. */
function textOf(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : [];
  const texts = content.map((block) =>
    typeof block === "object" && block !== null && !Array.isArray(block) ? block.text : undefined,
  );
  return texts.filter((text) => typeof text === "string").join("\n");
}

function resultProblem(result: JsonObject, maxBytes: number): string | undefined {
  try {
    const bytes = Buffer.byteLength(JSON.stringify(result));
    return bytes <= maxBytes ? undefined : `The tool's result has ${bytes} bytes; at most ${maxBytes} are kept.`;
  } catch (error) {
    return `The tool's result cannot be written as JSON: ${(error as Error).message}`;
  }
}
