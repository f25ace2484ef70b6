/**
 * Finds tasks whose runner is lost, in a store that several processes share, and does what each task's policy says.
 * A live peer's tasks are never touched: its lease is renewed well before it passes.
 */
import type { Applied } from "./attempt-host.js";
import type { Clock } from "./clock.js";
import type { ToolDefinition } from "./context.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import { describeError, type Logger } from "./logger.js";
import { Repeater } from "./repeater.js";
import type { TaskStore } from "./store.js";
import { type FailureReason, isTerminal, type TaskRecord, type TaskSummary } from "./task.js";
import { policyOf, triesOf } from "./tool-recovery.js";
import { goesOnOutside, type LeaseTerm, type TaskEvent } from "./transitions.js";

const PAGE = 100;

/** At the most, while the leases of a lost process pass one after the other. */
const LOOKS_PER_LEASE = 60;

export interface RecoveryOptions {
  store: TaskStore;
  clock: Clock;
  deadlines: Deadlines;
  logger: Logger;
  /** How often a task that may be run again is run, all told, unless its tool says otherwise. */
  maxTries: number;
  /** How long a task waits for a process that knows its tool. */
  unknownToolMs: number;
  /** Whether this process runs what it leases itself. */
  runsTasks: boolean;
  runnerId: string;
  leaseUntilAt: () => number;
  now: () => number;
  /** Milliseconds that no setting of the time changes. */
  elapsed: () => number;
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
  /** Tasks in the pause before their next try. */
  readonly #pauses = new Map<string, Deadline>();
  /** How long after a lease has passed its task counts as lost. */
  readonly #lateMs: number;
  /** Of leases that others hold: since when each is known to stand as it does. By {@link RecoveryOptions.elapsed}. */
  #standing = new Map<string, LeaseTerm & { sinceAt: number }>();
  #lookedAt: { now: number; elapsed: number } | undefined;
  #isOn = false;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#lateMs = options.leaseMs / 100;
    const { clock, leaseMs, logger } = options;
    const onError = (error: unknown): void => logger.warn({ error: describeError(error) }, NOT_LOOKED);
    this.#rounds = new Repeater({ clock, intervalMs: leaseMs / 3, onError, work: () => this.look() });
  }

  /** Looks at once, and then again and again where there are other processes. */
  start({ again }: { again: boolean }): void {
    this.#isOn = true;
    this.#lookedAt = undefined;
    this.#standing.clear();
    if (again) this.#rounds.start({ atOnce: true });
    else
      void this.look().catch((error: unknown) =>
        this.#options.logger.warn({ error: describeError(error) }, NOT_LOOKED),
      );
  }

  stop(): void {
    this.#isOn = false;
    this.#rounds.stop();
    for (const pause of this.#pauses.values()) pause.cancel();
    this.#pauses.clear();
  }

  /** Takes the task up at the end of its pause, if nobody has by then. */
  awaitTry({ taskId, attempt }: Pick<TaskSummary, "taskId" | "attempt">): void {
    if (!this.#isOn || this.#pauses.has(taskId) || attempt.state !== "queued" || attempt.notBeforeAt === undefined)
      return;
    const pause = this.#options.deadlines.at(attempt.notBeforeAt, () => {
      this.#pauses.delete(taskId);
      void this.#recover(taskId);
    });
    this.#pauses.set(taskId, pause);
  }

  /**
   * Looks at every unfinished task once. What it costs grows with what runs, not with what is retained.
   *
   * @returns in how many milliseconds the first lease passes that is held elsewhere, a pause in between kept;
   *   `undefined` when there is none. One that its holder renews does not pass before the next round
   */
  async look(): Promise<number | undefined> {
    const before = this.#hasSlept() ? undefined : this.#standing;
    this.#standing = new Map();
    if (before === undefined) return undefined;
    let firstPassesAt = Number.POSITIVE_INFINITY;
    let cursor: string | undefined;
    do {
      const query = { limit: PAGE, unfinished: true };
      const page = await this.#options.store.list(cursor === undefined ? query : { ...query, cursor });
      for (const task of page.tasks) {
        this.#noteStanding(task, before);
        if (isPausing(task, this.#options.now())) this.awaitTry(task);
        else if (this.#isLost(task)) await this.#recover(task.taskId);
        else if (task.attempt.state === "leased" && !this.#options.isMine(task.taskId))
          firstPassesAt = Math.min(firstPassesAt, task.attempt.leaseUntilAt);
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    if (firstPassesAt === Number.POSITIVE_INFINITY) return undefined;
    return Math.max(firstPassesAt + this.#lateMs - this.#options.now(), this.#options.leaseMs / LOOKS_PER_LEASE);
  }

  /**
   * Whether this process has not run for longer than a lease, as on a machine that slept: its peers slept as well then,
   * and get until the next look to renew.
   */
  #hasSlept(): boolean {
    const looked = { now: this.#options.now(), elapsed: this.#options.elapsed() };
    const last = this.#lookedAt ?? looked;
    this.#lookedAt = looked;
    return Math.max(looked.now - last.now, looked.elapsed - last.elapsed) > this.#options.leaseMs;
  }

  #noteStanding({ taskId, attempt }: TaskSummary, before: ReadonlyMap<string, LeaseTerm & { sinceAt: number }>): void {
    if (attempt.state !== "leased" || this.#options.isMine(taskId)) return;
    const { epoch, leaseUntilAt } = attempt;
    const last = before.get(taskId);
    const isSame = last?.epoch === epoch && last.leaseUntilAt === leaseUntilAt;
    this.#standing.set(taskId, isSame ? last : { epoch, leaseUntilAt, sinceAt: this.#options.elapsed() });
  }

  /**
   * The lease of the task, if it was seen to stand unrenewed for all the time that it is for: its runner, which measures in
   * the same way, has stopped. Where the clock that leases are written by was set back, they would last longer by as much.
   */
  #seenOut({ taskId, attempt }: Pick<TaskSummary, "taskId" | "attempt">): LeaseTerm | undefined {
    const standing = this.#standing.get(taskId);
    if (standing === undefined || attempt.state !== "leased" || attempt.leaseMs === undefined) return undefined;
    const { epoch, leaseUntilAt, sinceAt } = standing;
    if (epoch !== attempt.epoch || leaseUntilAt !== attempt.leaseUntilAt) return undefined;
    return this.#options.elapsed() - sinceAt > attempt.leaseMs * 1.01 ? { epoch, leaseUntilAt } : undefined;
  }

  /** A little late: whoever had the lease stops when it passes, by a clock that may differ a little, and that takes a moment. */
  #isLost(task: TaskSummary): boolean {
    const { taskId, attempt } = task;
    if (this.#options.isMine(taskId)) return false;
    if (attempt.state === "queued" || this.#seenOut(task) !== undefined) return true;
    return attempt.state === "leased" && attempt.leaseUntilAt + this.#lateMs <= this.#options.now();
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
    if (isTerminal(task) || isPausing(task, this.#options.now())) return;
    const tool = this.#options.toolNamed(task.toolName);
    if (task.cancellation !== undefined && !goesOnOutside(task)) await this.#endCancelled(task);
    else if (this.#mustFail(task, tool)) await this.#lose(task, "runner_lost", LOST);
    else if (tool !== undefined) await this.#runAgain(task, tool);
    else if (this.#isForsaken(task)) await this.#lose(task, "unknown_tool", forsaken(task));
  }

  /** What its process ran has ended with it, as far as anybody can do something about it. */
  async #endCancelled(task: TaskRecord): Promise<void> {
    if (task.attempt.state === "leased") await this.#lose(task, "runner_lost", LOST);
    else await this.#options.apply(task, { type: "cancel", how: "not_started" });
  }

  /** A task that never started is safe to start, whatever its policy. Where the tool is not known, others know its tries. */
  #mustFail({ attempt, recovery, cancellation }: TaskRecord, tool: ToolDefinition | undefined): boolean {
    if (tool !== undefined && cancellation !== undefined && policyOf(tool.recovery) !== "resume") return true;
    if (attempt.state !== "leased" || attempt.startedAt === undefined) return false;
    if (recovery === "fail") return true;
    if (tool === undefined) return false;
    return policyOf(tool.recovery) === "fail" || attempt.tries >= triesOf(tool.recovery, this.#options.maxTries);
  }

  /** A tool that is not known here may be known to another process, but not for ever. */
  #isForsaken({ attempt, lastUpdatedAt }: TaskRecord): boolean {
    if (!this.#options.runsTasks) return false;
    const sinceAt = attempt.state === "leased" ? Math.max(attempt.leaseUntilAt, lastUpdatedAt) : lastUpdatedAt;
    return this.#options.now() - sinceAt > this.#options.unknownToolMs;
  }

  async #runAgain(task: TaskRecord, tool: ToolDefinition): Promise<void> {
    if (!this.#options.runsTasks) return;
    const leased = await this.#options.apply(task, {
      type: "lease",
      runnerId: this.#options.runnerId,
      leaseUntilAt: this.#options.leaseUntilAt(),
      leaseMs: this.#options.leaseMs,
      seen: task.attempt,
      ...this.#evidence(task),
      ...this.#whatIsSaid(task, tool),
    });
    if (leased !== null && leased.refused === undefined) await this.#options.adopt(leased.task);
  }

  /** To clients of a task that is run again. Nothing when it was handed over: it goes on as if nothing had been. */
  #whatIsSaid({ attempt, cancellation }: TaskRecord, { recovery }: ToolDefinition): { statusMessage?: string } {
    const isLost = attempt.state === "leased";
    if (cancellation !== undefined)
      return { statusMessage: "The process that ran this task is gone; another stops what it left." };
    if (!isLost && (attempt.state !== "queued" || attempt.notBeforeAt === undefined)) return {};
    const nth = `try ${attempt.tries + 1} of ${triesOf(recovery, this.#options.maxTries)}`;
    if (!isLost) return { statusMessage: `This is ${nth}.` };
    const how = policyOf(recovery) === "resume" ? "another goes on with it" : "it is run again";
    return { statusMessage: `The process that ran this task was lost; ${how} (${nth}).` };
  }

  #evidence(task: TaskRecord): { seenOut?: LeaseTerm } {
    const seenOut = this.#seenOut(task);
    return seenOut === undefined ? {} : { seenOut };
  }

  async #lose(task: TaskRecord, reason: FailureReason, message: string): Promise<void> {
    await this.#options.apply(task, {
      type: "lose",
      outcome: { kind: "threw", reason, message },
      statusMessage: message,
      ...this.#evidence(task),
    });
  }
}

const NOT_LOOKED = "lost tasks could not be looked for; trying again";
const LOST = "The process that ran this task was lost before the work ended; its output so far was kept.";

const forsaken = ({ toolName }: TaskRecord): string =>
  `No server knows the tool ${JSON.stringify(toolName)} any more, so that nobody can run this task.`;

/** Whether the pause before its next try is not over. */
function isPausing({ attempt }: Pick<TaskSummary, "attempt">, now: number): boolean {
  return attempt.state === "queued" && attempt.notBeforeAt !== undefined && attempt.notBeforeAt > now;
}
