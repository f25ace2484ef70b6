/**
 * Who wants to know of which task. Any number may watch one task; a watcher of a finished task is let go, so
 * nothing is left behind by whoever does not unsubscribe.
 */
import type { Progress, TaskRecord } from "./task.js";
import { isTerminal } from "./task.js";

/** What a watcher is told: every change of the record, and progress at once, before the record has it. */
export type TaskNews =
  | { type: "changed"; task: TaskRecord }
  | { type: "progress"; taskId: string; progress: Progress }
  /** The record is not there any more. */
  | { type: "gone"; taskId: string };

export type Watcher = (news: TaskNews) => void;

export class Watchers {
  readonly #watchers = new Map<string, Set<Watcher>>();

  /** The ids that somebody watches. */
  get taskIds(): Iterable<string> {
    return this.#watchers.keys();
  }

  get size(): number {
    return this.#watchers.size;
  }

  has(taskId: string): boolean {
    return this.#watchers.has(taskId);
  }

  /** @returns a function that stops the calls */
  add(taskId: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(taskId);
    if (watchers === undefined) this.#watchers.set(taskId, new Set([watcher]));
    else watchers.add(watcher);
    return () => this.#drop(taskId, watcher);
  }

  tell(taskId: string, news: TaskNews): void {
    const watchers = this.#watchers.get(taskId);
    if (watchers === undefined) return;
    if (news.type === "gone" || (news.type === "changed" && isTerminal(news.task))) this.#watchers.delete(taskId);
    for (const watcher of [...watchers]) watcher(news);
  }

  #drop(taskId: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(taskId);
    if (watchers === undefined || !watchers.delete(watcher)) return;
    if (watchers.size === 0) this.#watchers.delete(taskId);
  }
}
