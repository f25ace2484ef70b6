/**
 * Finds tasks whose runner is lost, in a store that several processes share, and does what each task's policy says.
 * A live peer's tasks are never touched: its lease is renewed well before it passes.
 */
import type { Applied } from "./attempt.js";
import type { Clock } from "./clock.js";
import type { ToolDefinition } from "./context.js";
import { describeError, type Logger } from "./logger.js";
import { Repeater } from "./repeater.js";
import type { TaskStore } from "./store.js";
import type { TaskRecord, TaskSummary } from "./task.js";
import type { TaskEvent } from "./transitions.js";

const PAGE = 100;

export interface RecoveryOptions {
  store: TaskStore;
  clock: Clock;
  logger: Logger;
  /** How often a task is run, all told, when it may be run again. */
  maxTries: number;
  /** Whether this process runs what it leases itself. */
  runsTasks: boolean;
  runnerId: string;
  leaseUntilAt: () => number;
  now: () => number;
  /** After how long without a sign of life a runner counts as lost. */
  leaseMs: number;
  isMine: (taskId: string) => boolean;
  toolNamed: (name: string) => ToolDefinition | undefined;
  apply: (task: TaskRecord, event: TaskEvent) => Promise<Applied>;
  /** Runs a task that has just been leased. */
  adopt: (task: TaskRecord) => Promise<void>;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #rounds: Repeater;
  #lookedAt: number | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, leaseMs, logger } = options;
    const onError = (error: unknown): void =>
      logger.warn({ error: describeError(error) }, "lost tasks could not be looked for; trying again");
    this.#rounds = new Repeater({ clock, intervalMs: leaseMs / 3, onError, work: () => this.look() });
  }

  /** Looks at once, and then again and again. */
  start(): void {
    this.#lookedAt = undefined;
    this.#rounds.start({ atOnce: true });
  }

  stop(): void {
    this.#rounds.stop();
  }

  /** Looks at every unfinished task once. What it costs grows with what runs, not with what is retained. */
  async look(): Promise<void> {
    if (this.#hasSlept()) return;
    let cursor: string | undefined;
    do {
      const query = { limit: PAGE, unfinished: true };
      const page = await this.#options.store.list(cursor === undefined ? query : { ...query, cursor });
      for (const task of page.tasks) if (this.#isLost(task)) await this.#recover(task.taskId);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  /**
   * Whether this process has not run for longer than a lease, as on a machine that slept: its peers slept as well then,
   * and get until the next look to renew.
   */
  #hasSlept(): boolean {
    const now = this.#options.now();
    const sinceMs = now - (this.#lookedAt ?? now);
    this.#lookedAt = now;
    return sinceMs > this.#options.leaseMs;
  }

  #isLost(task: TaskSummary): boolean {
    if (this.#options.isMine(task.taskId)) return false;
    return (
      task.attempt.state === "queued" ||
      (task.attempt.state === "leased" && task.attempt.leaseUntilAt <= this.#options.now())
    );
  }

  async #recover(taskId: string): Promise<void> {
    try {
      const task = await this.#options.store.get(taskId);
      if (task !== null) await this.#settle(task);
    } catch (error) {
      this.#options.logger.error(
        { taskId, error: describeError(error) },
        "a lost task could not be recovered; trying again",
      );
    }
  }

  async #settle(task: TaskRecord): Promise<void> {
    const { attempt, cancellation } = task;
    if (attempt.state === "queued" && cancellation !== undefined)
      await this.#options.apply(task, { type: "cancel", how: "not_started" });
    else if (cancellation === undefined && this.#mayRunAgain(task)) await this.#runAgain(task);
    else await this.#lose(task);
  }

  /** A task that never started is safe to start, whatever its policy. */
  #mayRunAgain({ attempt, recovery }: TaskRecord): boolean {
    const started = attempt.state === "leased" && attempt.startedAt !== undefined;
    return !started || (recovery !== "fail" && attempt.tries < this.#options.maxTries);
  }

  async #runAgain(task: TaskRecord): Promise<void> {
    // A tool that is not known here may be known to another process, which then takes the task.
    if (!this.#options.runsTasks || this.#options.toolNamed(task.toolName) === undefined) return;
    const leased = await this.#options.apply(task, {
      type: "lease",
      runnerId: this.#options.runnerId,
      leaseUntilAt: this.#options.leaseUntilAt(),
    });
    if (leased !== null && leased.refused === undefined) await this.#options.adopt(leased.task);
  }

  async #lose(task: TaskRecord): Promise<void> {
    const message = "The process that ran this task was lost before the work ended; its output so far was kept.";
    await this.#options.apply(task, {
      type: "lose",
      outcome: { kind: "threw", reason: "runner_lost", message },
      statusMessage: message,
    });
  }
}
