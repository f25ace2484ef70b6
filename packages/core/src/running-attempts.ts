/** The attempts of this process: each from when its task is leased here until its end is written and its handler has settled. */
import { RunningAttempt } from "./attempt.js";
import type { AttemptHost, Call } from "./attempt-host.js";
import type { ToolDefinition } from "./context.js";
import { describeError } from "./logger.js";
import type { Runner } from "./runner.js";
import type { TaskRecord } from "./task.js";
import type { TaskLedger } from "./task-ledger.js";

export interface RunningAttemptsOptions {
  host: Omit<AttemptHost, "left" | "setWaiting">;
  runner: Runner;
  ledger: TaskLedger;
  /** Whether nobody else could run again what is put down here. */
  singleProcess: boolean;
  /** Whether `work` is done within `ms`. */
  within: (ms: number, work: Promise<unknown>) => Promise<boolean>;
}

export class RunningAttempts {
  readonly #options: RunningAttemptsOptions;
  readonly #host: AttemptHost;
  readonly #attempts = new Map<string, RunningAttempt>();

  constructor(options: RunningAttemptsOptions) {
    this.#options = options;
    this.#host = {
      ...options.host,
      setWaiting: (taskId, isWaiting) => options.runner.setWaiting?.(taskId, isWaiting),
      left: (attempt) => this.#left(attempt),
    };
  }

  get(taskId: string): RunningAttempt | undefined {
    return this.#attempts.get(taskId);
  }

  get taskIds(): Iterable<string> {
    return this.#attempts.keys();
  }

  /** What runs here, and what of it outlives its task. */
  get gauges(): { attempts: number; running: number; stillRunningAfterEnd: number } {
    const running = [...this.#attempts.values()].filter((attempt) => attempt.isRunning);
    return {
      attempts: this.#attempts.size,
      running: running.length,
      stillRunningAfterEnd: running.filter((attempt) => attempt.isOver).length,
    };
  }

  /** The record is durable: from here on nothing may be told to the caller but that there is a task. */
  begin(tool: ToolDefinition, task: TaskRecord, call: Call, reserved: boolean): Promise<void> | undefined {
    const { runner, ledger, host } = this.#options;
    const { taskId, owner } = task;
    ledger.enter(taskId, owner);
    if (runner.inProcess) this.#attempts.set(taskId, new RunningAttempt(this.#host, tool, task, call));
    const queued = runner.submit({ taskId, owner }, reserved);
    return queued?.catch((error: unknown) =>
      host.logger.error(
        { taskId, error: describeError(error) },
        "a task could not be queued; it waits in the store to be found",
      ),
    );
  }

  /** Resolves when the handler of the task has settled. */
  run(taskId: string): Promise<void> {
    return this.#attempts.get(taskId)?.run() ?? Promise.resolve();
  }

  async renewLeases(): Promise<void> {
    await Promise.all([...this.#attempts.values()].map((attempt) => attempt.renew()));
  }

  /** Resolves when what runs has ended by itself; what waits for a person is not waited for. */
  async drained(): Promise<void> {
    const worthWaiting = [...this.#attempts.values()].filter(
      (attempt) => (attempt.isRunning || attempt.isEnding) && attempt.record?.status !== "input_required",
    );
    await Promise.all(worthWaiting.map((attempt) => attempt.whenLeft()));
  }

  /** Hands every task over where it may run again, and fails it otherwise; work is stopped first, for `stopMs` at the most. */
  async putAllDown(stopMs: number | undefined): Promise<void> {
    const { within, host } = this.#options;
    const attempts = [...this.#attempts.values()];
    const graceMs = attempts.reduce((longest, attempt) => Math.max(longest, attempt.graceMs), 0);
    const allDown = Promise.all(attempts.map((attempt) => this.#putDown(attempt)));
    if (stopMs !== undefined && !(await within(stopMs, allDown))) for (const attempt of attempts) attempt.giveUp();
    await within(2 * graceMs + host.settings.storeTimeoutMs, allDown);
    for (const attempt of attempts) attempt.abandon();
  }

  #putDown(attempt: RunningAttempt): Promise<void> {
    const mayRunAgain = attempt.record?.recovery !== "fail" || !attempt.isRunning;
    if (mayRunAgain && !this.#options.singleProcess) return attempt.release();
    return attempt.stopAndFail("shutdown", "The server shut down before the work ended.");
  }

  forgetAll(): void {
    this.#attempts.clear();
    this.#options.ledger.leaveAll();
  }

  /** The task may have been leased again here meanwhile: what entered later stays. */
  #left(attempt: RunningAttempt): void {
    if (this.#attempts.get(attempt.taskId) !== attempt) return;
    this.#attempts.delete(attempt.taskId);
    this.#options.ledger.leave(attempt.taskId);
  }
}
