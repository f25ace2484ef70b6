import type { ListQuery, StoreSignals, TaskChanges, TaskPage, TaskRecord, TaskStore } from "@claimcheck/core";

/** A store whose every read is followed by a pause: whoever checks and then acts has all the time to be wrong. */
export class SlowReads implements TaskStore {
  readonly #store: TaskStore;
  readonly #pauseMs: number;
  declare readonly signals?: StoreSignals;
  declare readonly singleProcess?: true;

  constructor(store: TaskStore, pauseMs: number) {
    this.#store = store;
    this.#pauseMs = pauseMs;
    if (store.signals !== undefined) this.signals = store.signals;
    if (store.singleProcess === true) this.singleProcess = true;
  }

  async open(): Promise<void> {
    await this.#store.open?.();
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  create(record: TaskRecord): Promise<TaskRecord> {
    return this.#store.create(record);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return this.#late(await this.#store.get(taskId));
  }

  async list(query: ListQuery): Promise<TaskPage> {
    return this.#late(await this.#store.list(query));
  }

  update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    return this.#store.update(taskId, expectedVersion, changes);
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    return this.#late(await this.#store.findByKey(owner, idempotencyKey));
  }

  async sweep(limit: number): Promise<number> {
    return (await this.#store.sweep?.(limit)) ?? 0;
  }

  async now(): Promise<number> {
    return (await this.#store.now?.()) ?? Date.now();
  }

  async #late<T>(value: T): Promise<T> {
    await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    return value;
  }
}
