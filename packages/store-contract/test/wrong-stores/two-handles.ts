import type { TaskChanges, TaskRecord } from "@claimcheck/core";
import { PlainStore, type Updated } from "../plain-store.js";
import { ChecksThenInserts } from "./creation.js";
import type { WrongStore } from "./wrong-store.js";

class ReadsItsOwnCache extends PlainStore {
  readonly #cache = new Map<string, TaskRecord>();

  override async get(taskId: string): Promise<TaskRecord | null> {
    const cached = this.#cache.get(taskId);
    if (cached !== undefined) return this.expired(cached) ? null : this.copy(cached);
    const record = await super.get(taskId);
    if (record !== null) this.#cache.set(taskId, this.copy(record));
    return record;
  }

  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const next = await super.update(taskId, version, changes);
    if (next !== null && next !== "conflict") this.#cache.set(taskId, this.copy(next));
    return next;
  }
}

/** A lock that keeps the calls of one process apart, and only those. */
class LocksInThisProcess extends ChecksThenInserts {
  #last: Promise<unknown> = Promise.resolve();

  override create(record: TaskRecord): Promise<TaskRecord> {
    const mine = this.#last.then(() => super.create(record));
    this.#last = mine.catch(() => {});
    return mine;
  }
}

export const twoHandlesMistakes: readonly WrongStore[] = [
  {
    name: "reads come from a cache of the handle",
    store: ReadsItsOwnCache,
    fails: [
      "Methods are called as methods and may be called at the same time, from several processes on one store",
      "Methods are called as methods and may be called at the same time, from several processes on one store — of two updates one wins",
    ],
  },
  {
    name: "create is atomic within a process only",
    store: LocksInThisProcess,
    fails: [
      "Methods are called as methods and may be called at the same time, from several processes on one store — one key is one task",
    ],
  },
];
