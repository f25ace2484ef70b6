/** Cancels a task wherever it is: in the queue, running here, or running in another process on the same store. */
import type { RunningAttempt } from "./attempt.js";
import type { Applied } from "./attempt-host.js";
import type { ToolDefinition } from "./context.js";
import { describeError, type Logger } from "./logger.js";
import type { Runner } from "./runner.js";
import type { Settings } from "./runtime-options.js";
import { isTerminal, type TaskRecord } from "./task.js";
import { goesOnOutside, type TaskEvent } from "./transitions.js";
import type { Watchers } from "./watchers.js";

export interface CancelledResult {
  task: TaskRecord;
  /** `false` when the task had ended already, or its own end landed first. */
  cancelled: boolean;
}

/** What cancelling needs of the runtime. */
export interface CancellerHost {
  readonly runner: Runner;
  readonly watchers: Watchers;
  readonly logger: Logger;
  readonly settings: Settings;
  now(): number;
  get(owner: string, taskId: string): Promise<TaskRecord | null>;
  attemptOf(taskId: string): RunningAttempt | undefined;
  toolNamed(name: string): ToolDefinition | undefined;
  apply(task: TaskRecord, event: TaskEvent): Promise<Applied>;
  waitForEnd(task: TaskRecord, signal: AbortSignal): Promise<unknown>;
  /** Whether `work` is done within `ms`. */
  within(ms: number, work: Promise<unknown>): Promise<boolean>;
}

export class Canceller {
  readonly #host: CancellerHost;

  constructor(host: CancellerHost) {
    this.#host = host;
  }

  async cancel(owner: string, taskId: string): Promise<CancelledResult | null> {
    const task = await this.#host.get(owner, taskId);
    if (task === null) return null;
    if (isTerminal(task)) return { task, cancelled: false };
    const ended = await this.#end(task);
    return ended === null ? null : { task: ended, cancelled: ended.status === "cancelled" };
  }

  /** The record as the task ended; heard, where it can be, since a task with a ttl of 0 can't be read after it. */
  async #end(task: TaskRecord): Promise<TaskRecord | null> {
    const { watchers } = this.#host;
    let ended: TaskRecord | undefined;
    const unsubscribe = watchers.add(task.taskId, (news) => {
      if (news.type === "changed" && isTerminal(news.task)) ended = news.task;
    });
    try {
      await this.#cancelHere(task);
      const left = ended ?? (await this.#host.get(task.owner, task.taskId));
      if (left === null || isTerminal(left)) return left;
      await this.#cancelElsewhere(left);
      return ended ?? (await this.#host.get(task.owner, task.taskId));
    } finally {
      unsubscribe();
    }
  }

  async #cancelHere(task: TaskRecord): Promise<void> {
    const attempt = this.#host.attemptOf(task.taskId);
    await this.#dequeue(task);
    if (attempt === undefined || attempt.isOver) return;
    const ms = 2 * attempt.graceMs + this.#host.settings.storeTimeoutMs;
    if (await this.#host.within(ms, attempt.cancel())) return;
    throw new Error("The store did not take the end of a cancelled task in time; it is tried again in the background.");
  }

  async #dequeue({ taskId, owner }: TaskRecord): Promise<void> {
    try {
      await this.#host.runner.remove({ taskId, owner });
    } catch (error) {
      this.#host.logger.error(
        { taskId, error: describeError(error) },
        "a cancelled task could not be taken out of the queue",
      );
    }
  }

  /** Asks the process that runs the task to stop it; does without it when it is lost or does not answer in time. */
  async #cancelElsewhere(task: TaskRecord): Promise<void> {
    const { apply } = this.#host;
    if (task.attempt.state === "queued") {
      const ended = await apply(task, { type: "cancel", how: "not_started" });
      if (ended === null || isTerminal(ended.task)) return;
    }
    const asked = await apply(task, { type: "request_cancel" });
    if (asked === null || isTerminal(asked.task) || (await this.#endsInTime(asked.task))) return;
    await apply(asked.task, { type: "cancel", how: "still_running" });
  }

  /** Waits for another process to stop the task: to hear of it, to let the grace pass, to be heard of. */
  async #endsInTime(task: TaskRecord): Promise<boolean> {
    const takenUpMs = this.#takenUpWithinMs(task);
    if (takenUpMs === undefined) return false;
    const { cancelGraceMs, pollIntervalMs } = this.#host.settings;
    const graceMs = this.#host.toolNamed(task.toolName)?.cancelGraceMs ?? cancelGraceMs;
    const controller = new AbortController();
    try {
      const ended = this.#host.waitForEnd(task, controller.signal).catch(() => {});
      return await this.#host.within(takenUpMs + 2 * (graceMs + pollIntervalMs), ended);
    } finally {
      controller.abort();
    }
  }

  /**
   * In how long somebody runs the task who can stop it; `undefined` when nobody will. If its process is lost, work that goes on
   * outside it waits for its lease to pass, and for a look of whoever takes it up.
   */
  #takenUpWithinMs(task: TaskRecord): number | undefined {
    const { attempt } = task;
    const { leaseMs } = this.#host.settings;
    const leftMs = attempt.state === "leased" ? attempt.leaseUntilAt - this.#host.now() : 0;
    if (goesOnOutside(task)) return Math.min(Math.max(leftMs, 0), leaseMs) + leaseMs / 2;
    return leftMs > 0 ? 0 : undefined;
  }
}
