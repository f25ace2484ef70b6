/** The store of a process under test: notes which leases this process has, and when the store kept it waiting. */
import type { ListQuery, StoreSignals, TaskChanges, TaskPage, TaskRecord, TaskStore } from "@claimcheck/core";

/** Passes every call on; what is wrong in one way overrides one method. */
export class PassedOnStore implements TaskStore {
  readonly inner: TaskStore;
  declare readonly signals?: StoreSignals;
  declare readonly singleProcess?: true;

  constructor(inner: TaskStore) {
    this.inner = inner;
    if (inner.signals !== undefined) this.signals = inner.signals;
    if (inner.singleProcess === true) this.singleProcess = true;
  }

  async open(): Promise<void> {
    await this.inner.open?.();
  }

  async close(): Promise<void> {
    await this.inner.close?.();
  }

  create(record: TaskRecord): Promise<TaskRecord> {
    return this.inner.create(record);
  }

  get(taskId: string): Promise<TaskRecord | null> {
    return this.inner.get(taskId);
  }

  list(query: ListQuery): Promise<TaskPage> {
    return this.inner.list(query);
  }

  update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    return this.inner.update(taskId, expectedVersion, changes);
  }

  findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    return this.inner.findByKey(owner, idempotencyKey);
  }

  async sweep(limit: number): Promise<number> {
    return (await this.inner.sweep?.(limit)) ?? 0;
  }

  async now(): Promise<number> {
    return (await this.inner.now?.()) ?? Date.now();
  }
}

export class WatchedStore extends PassedOnStore {
  readonly #epochs = new Map<string, number>();
  readonly #onLate: (sinceAt: number, why: string) => void;
  readonly #lateMs: number;

  /** @param lateMs an answer that takes longer is reported, and so is one that fails */
  constructor(inner: TaskStore, lateMs: number, onLate: (sinceAt: number, why: string) => void) {
    super(inner);
    this.#lateMs = lateMs;
    this.#onLate = onLate;
  }

  /** The epoch of the last lease that this process was given for the task. */
  epochOf(taskId: string): number {
    return this.#epochs.get(taskId) ?? 0;
  }

  override async create(record: TaskRecord): Promise<TaskRecord> {
    const created = await this.#timed("create", super.create(record));
    if (created.taskId === record.taskId) this.#note(created);
    return created;
  }

  override get(taskId: string): Promise<TaskRecord | null> {
    return this.#timed("get", super.get(taskId));
  }

  override list(query: ListQuery): Promise<TaskPage> {
    return this.#timed("list", super.list(query));
  }

  override async update(
    taskId: string,
    expectedVersion: number,
    changes: TaskChanges,
  ): Promise<TaskRecord | "conflict" | null> {
    const updated = await this.#timed("update", super.update(taskId, expectedVersion, changes));
    // Only a lease of its own is ever written by this process.
    if (changes.attempt?.state === "leased" && updated !== null && updated !== "conflict") this.#note(updated);
    return updated;
  }

  #note({ taskId, attempt }: TaskRecord): void {
    if (attempt.state === "leased") this.#epochs.set(taskId, attempt.epoch);
  }

  async #timed<T>(what: string, answer: Promise<T>): Promise<T> {
    const sinceAt = Date.now();
    try {
      const answered = await answer;
      if (Date.now() - sinceAt >= this.#lateMs) this.#onLate(sinceAt, what);
      return answered;
    } catch (error) {
      this.#onLate(sinceAt, `${what} failed`);
      throw error;
    }
  }
}
