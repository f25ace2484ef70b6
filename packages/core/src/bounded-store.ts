/**
 * A store whose every answer comes within a bound, so that nobody who asks the runtime waits for ever on one that
 * hangs. What it does when the bound has passed is unknown: it may still take place.
 */
import type { Deadlines } from "./deadlines.js";
import type { ListQuery, StoreSignals, TaskPage, TaskStore } from "./store.js";
import type { TaskChanges, TaskRecord } from "./task.js";

/** The store did not answer in time. */
export class StoreTimeoutError extends Error {
  override readonly name = "StoreTimeoutError";
  /** What the store may still come to answer. */
  readonly late: Promise<unknown>;

  constructor(what: string, withinMs: number, late: Promise<unknown>) {
    super(`The store did not answer to ${what} within ${withinMs} ms.`);
    this.late = late;
  }
}

export interface BoundedStoreOptions {
  /** By a clock that nobody sets: a store hangs no longer for it. */
  deadlines: Deadlines;
  /** What a store without a clock goes by. */
  now: () => number;
  timeoutMs: number;
}

export class BoundedStore implements TaskStore {
  readonly #store: TaskStore;
  readonly #options: BoundedStoreOptions;

  readonly signals?: StoreSignals;

  constructor(store: TaskStore, options: BoundedStoreOptions) {
    this.#store = store;
    this.#options = options;
    if (store.signals !== undefined) this.signals = store.signals;
  }

  /** Opening may have a schema to bring up to date: it takes the time that it takes. */
  async open(): Promise<void> {
    await this.#store.open?.();
  }

  async close(): Promise<void> {
    await this.#within("close", this.#store.close?.());
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    return this.#within("create", this.#store.create(record));
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return this.#within("get", this.#store.get(taskId));
  }

  async list(query: ListQuery): Promise<TaskPage> {
    return this.#within("list", this.#store.list(query));
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    return this.#within("update", this.#store.update(taskId, expectedVersion, changes));
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    return this.#within("findByKey", this.#store.findByKey(owner, idempotencyKey));
  }

  async sweep(limit: number): Promise<number> {
    return (await this.#within("sweep", this.#store.sweep?.(limit))) ?? 0;
  }

  async now(): Promise<number> {
    return (await this.#within("now", this.#store.now?.())) ?? this.#options.now();
  }

  #within<T>(what: string, answer: Promise<T> | T): Promise<T> {
    const { deadlines, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const tooLate = (): void => reject(new StoreTimeoutError(what, timeoutMs, Promise.resolve(answer)));
      const deadline = deadlines.after(timeoutMs, tooLate);
      const settle = (settled: () => void): void => {
        deadline.cancel();
        settled();
      };
      Promise.resolve(answer).then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}
