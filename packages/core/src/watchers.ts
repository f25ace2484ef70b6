/**
 * Who wants to know of which task. Any number may watch one task; a watcher of a finished task is let go, so
 * nothing is left behind by whoever does not unsubscribe.
 */
import type { LogMessage } from "./context.js";
import { describeError, type Logger } from "./logger.js";
import type { Progress, TaskRecord } from "./task.js";
import { isTerminal } from "./task.js";

/** What a watcher is told: every change of the record, progress at once, before the record has it, and what is only said. */
export type TaskNews =
  | { type: "changed"; task: TaskRecord }
  | { type: "progress"; taskId: string; progress: Progress }
  | { type: "log"; taskId: string; message: LogMessage }
  /** The record is not there any more. */
  | { type: "gone"; taskId: string }
  /** The runtime has closed: it will tell nothing more, though the task may go on elsewhere. */
  | { type: "closed"; taskId: string };

/** What concerns the record. */
export type RecordNews = Exclude<TaskNews, { type: "progress" | "log" }>;

export function isRecordNews(news: TaskNews): news is RecordNews {
  return news.type !== "progress" && news.type !== "log";
}

/** Answers `true` when somebody hears a log message; what it answers to other news does not count. */
export type Watcher = (news: TaskNews) => unknown;

interface Watched {
  watchers: Set<Watcher>;
  /** Of the record last told. The same news comes by several ways (a write, a signal, a poll), and may come late. */
  version: number;
}

export class Watchers {
  readonly #logger: Logger;
  readonly #watched = new Map<string, Watched>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The ids that somebody watches. */
  get taskIds(): Iterable<string> {
    return this.#watched.keys();
  }

  get size(): number {
    return this.#watched.size;
  }

  has(taskId: string): boolean {
    return this.#watched.has(taskId);
  }

  /** @returns a function that stops the calls */
  add(taskId: string, watcher: Watcher): () => void {
    const watched = this.#watched.get(taskId);
    if (watched === undefined) this.#watched.set(taskId, { watchers: new Set([watcher]), version: 0 });
    else watched.watchers.add(watcher);
    return () => this.#drop(taskId, watcher);
  }

  /** Says how the record now is; does nothing when that, or something newer, has been said. */
  changed(task: TaskRecord): void {
    const watched = this.#watched.get(task.taskId);
    if (watched === undefined || task.version <= watched.version) return;
    watched.version = task.version;
    if (isTerminal(task)) this.#watched.delete(task.taskId);
    this.#tell(watched, { type: "changed", task });
  }

  progress(taskId: string, progress: Progress): void {
    const watched = this.#watched.get(taskId);
    if (watched !== undefined) this.#tell(watched, { type: "progress", taskId, progress });
  }

  /** Answers whether somebody hears it. */
  log(taskId: string, message: LogMessage): boolean {
    const watched = this.#watched.get(taskId);
    return watched !== undefined && this.#tell(watched, { type: "log", taskId, message });
  }

  gone(taskId: string): void {
    this.#letGo(taskId, "gone");
  }

  close(): void {
    for (const taskId of [...this.#watched.keys()]) this.#letGo(taskId, "closed");
  }

  #letGo(taskId: string, type: "gone" | "closed"): void {
    const watched = this.#watched.get(taskId);
    if (watched === undefined) return;
    this.#watched.delete(taskId);
    this.#tell(watched, { type, taskId });
  }

  /**
   * What a watcher throws is its own affair: neither the other watchers nor the write that is told of may suffer. Answers
   * whether one of them answered `true`.
   */
  #tell(watched: Watched, news: TaskNews): boolean {
    let isHeard = false;
    for (const watcher of [...watched.watchers]) {
      try {
        if (watcher(news) === true) isHeard = true;
      } catch (error) {
        this.#logger.error({ error: describeError(error) }, "a watcher of a task threw");
      }
    }
    return isHeard;
  }

  #drop(taskId: string, watcher: Watcher): void {
    const watched = this.#watched.get(taskId);
    if (watched === undefined || !watched.watchers.delete(watcher)) return;
    if (watched.watchers.size === 0) this.#watched.delete(taskId);
  }
}
