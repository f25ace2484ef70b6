/**
 * What this process hears of its tasks, by its own writes and from other processes on the same store, and who is told. A
 * hint from elsewhere may be lost or come without end: it makes a task be read anew, and so does looking now and then.
 */
import type { Admission } from "./admission.js";
import type { Clock } from "./clock.js";
import { FreshReader } from "./fresh-reader.js";
import { describeError, type Logger } from "./logger.js";
import { Paced } from "./paced.js";
import type { RunningAttempts } from "./running-attempts.js";
import type { TaskStore } from "./store.js";
import { isTerminal, type TaskRecord } from "./task.js";
import type { Watchers } from "./watchers.js";

/** "Something changed" may be said without end, by signals that are broken as by ones that are busy: how far apart it counts. */
const HINTED_LOOKS_MS = 50;

/** How many of the tasks that run elsewhere are read anew in one look, in case the news of their end was lost. */
const AWAITED_A_LOOK = 100;

export interface NewsOptions {
  store: TaskStore;
  clock: Clock;
  admission: Admission;
  watchers: Watchers;
  attempts: RunningAttempts;
  logger: Logger;
  /** What a store that is out makes many tasks say. */
  outageLogger: Logger;
  /** The task waits for its next try. */
  awaitTry: (task: TaskRecord) => void;
}

export class News {
  readonly #options: NewsOptions;
  readonly #reader: FreshReader;
  readonly #hintedLooks: Paced;

  constructor(options: NewsOptions) {
    this.#options = options;
    const { store, clock, outageLogger } = options;
    this.#reader = new FreshReader({
      read: (taskId) => store.get(taskId),
      found: (taskId, task) => (task === null ? this.#gone(taskId) : this.tell(task)),
      logger: outageLogger,
    });
    this.#hintedLooks = new Paced({ clock, intervalMs: HINTED_LOOKS_MS, work: () => void this.lookAnew() });
  }

  /** The record is as it now is in the store. */
  tell(task: TaskRecord): void {
    const { admission, watchers, attempts, awaitTry } = this.#options;
    if (isTerminal(task)) admission.ledger.ended(task);
    else if (task.attempt.state === "queued") awaitTry(task);
    attempts.get(task.taskId)?.see(task);
    watchers.changed(task);
  }

  /** Another process says that a task changed; `null` when it can't say which. */
  hint(taskId: string | null): void {
    if (taskId === null) this.#hintedLooks.ask();
    else if (this.#isOfConcern(taskId)) void this.#reader.look(taskId);
  }

  /** Reads everything anew that somebody here runs or watches. */
  async lookAnew(): Promise<void> {
    const { admission, watchers, attempts } = this.#options;
    const awaited = admission.ledger.lookedAtLeast(AWAITED_A_LOOK);
    const concerned = new Set([...watchers.taskIds, ...attempts.taskIds, ...awaited]);
    await Promise.all([...concerned].map((taskId) => this.#reader.look(taskId)));
  }

  /** Whoever begins to watch when the task has just ended would hear nothing, for ever. */
  async tellEnd(taskId: string): Promise<void> {
    const { store, watchers, logger } = this.#options;
    try {
      const task = await store.get(taskId);
      if (task === null) watchers.gone(taskId);
      else if (isTerminal(task)) watchers.changed(task);
    } catch (error) {
      logger.warn({ taskId, error: describeError(error) }, "a watched task could not be read");
    }
  }

  stop(): void {
    this.#hintedLooks.stop();
  }

  #isOfConcern(taskId: string): boolean {
    const { admission, watchers, attempts } = this.#options;
    return watchers.has(taskId) || attempts.get(taskId) !== undefined || admission.ledger.awaits(taskId);
  }

  #gone(taskId: string): void {
    const { admission, watchers } = this.#options;
    if (admission.ledger.awaits(taskId)) admission.ledger.leave(taskId);
    watchers.gone(taskId);
  }
}
