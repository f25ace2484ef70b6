/**
 * A store as plain as can be, whose steps can be overridden one by one: what the wrong stores derive from. Every
 * step waits a turn, as it would for a back end, so that a store which acts in two steps can be seen between them.
 * The memory store has none of these seams, and should not.
 */
import type {
  Clock,
  ListQuery,
  StoreSignals,
  TaskChanges,
  TaskPage,
  TaskRecord,
  TaskStore,
  TaskSummary,
} from "@claimcheck/core";
import { applyChanges, comparePositions, decodeCursor, encodeCursor, isExpired, summarize } from "@claimcheck/core";

/** What several handles share, and what a restart leaves. */
export class Backend {
  readonly records = new Map<string, TaskRecord>();
  /** Owner and key → task id. */
  readonly keys = new Map<string, string>();
  readonly listeners = new Set<(taskId: string | null) => void>();

  readonly clock: Clock;
  /** Nobody reaches it. */
  isOut = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }
}

/** What an update answers. */
export type Updated = TaskRecord | "conflict" | null;

export class PlainStore implements TaskStore {
  protected readonly backend: Backend;

  constructor(backend: Backend) {
    this.backend = backend;
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async create(record: TaskRecord): Promise<TaskRecord> {
    await this.turn();
    const holder = this.holderOf(record);
    if (holder !== null) return this.copy(holder);
    if (this.backend.records.has(record.taskId)) throw new Error("That task id is taken.");
    this.insert(record);
    return this.copy(record);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    await this.turn();
    const record = this.live(taskId);
    return record === null ? null : this.copy(record);
  }

  async list(query: ListQuery): Promise<TaskPage> {
    await this.turn();
    const from = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const records = this.selected(query).sort((a, b) => this.compare(b, a));
    const left =
      from === undefined ? records : records.filter((record) => this.compare(record, from as TaskRecord) < 0);
    const tasks = left.slice(0, query.limit).map((record) => this.copy(this.shown(record)));
    const last = tasks.at(-1);
    return left.length > tasks.length && last !== undefined ? { tasks, nextCursor: encodeCursor(last) } : { tasks };
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    await this.turn();
    const record = this.live(taskId);
    if (record === null) return null;
    if (record.version !== expectedVersion) return "conflict";
    const next = this.copy(applyChanges(record, changes));
    this.write(next);
    return this.copy(next);
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    await this.turn();
    const taskId = this.backend.keys.get(this.keyOf(owner, idempotencyKey));
    const record = taskId === undefined ? null : this.live(taskId);
    return record === null ? null : this.copy(record);
  }

  async sweep(limit: number): Promise<number> {
    await this.turn();
    const expired = [...this.backend.records.values()].filter((record) => this.expired(record)).slice(0, limit);
    for (const record of expired) this.remove(record);
    return expired.length;
  }

  readonly signals: StoreSignals = {
    publish: (taskId) => this.publish(taskId),
    subscribe: (listener) => this.subscribe(listener),
  };

  protected async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.backend.isOut) throw new Error("The back end cannot be reached.");
  }

  protected copy<T>(value: T): T {
    return JSON.parse(JSON.stringify(value)) as T;
  }

  protected keyOf(owner: string, key: string): string {
    return JSON.stringify([owner, key]);
  }

  protected expired(record: TaskRecord): boolean {
    return isExpired(record, this.backend.clock.now());
  }

  protected live(taskId: string): TaskRecord | null {
    const record = this.backend.records.get(taskId);
    return record === undefined || this.expired(record) ? null : record;
  }

  protected holderOf({ owner, idempotencyKey }: TaskRecord): TaskRecord | null {
    const taskId = idempotencyKey === undefined ? undefined : this.backend.keys.get(this.keyOf(owner, idempotencyKey));
    return taskId === undefined ? null : this.live(taskId);
  }

  protected insert(record: TaskRecord): void {
    this.backend.records.set(record.taskId, this.copy(record));
    if (record.idempotencyKey === undefined) return;
    this.backend.keys.set(this.keyOf(record.owner, record.idempotencyKey), record.taskId);
  }

  /** Puts a changed record in the place of what it was. */
  protected write(record: TaskRecord): void {
    this.backend.records.set(record.taskId, record);
  }

  protected remove(record: TaskRecord): void {
    this.backend.records.delete(record.taskId);
    const key = record.idempotencyKey === undefined ? undefined : this.keyOf(record.owner, record.idempotencyKey);
    if (key !== undefined && this.backend.keys.get(key) === record.taskId) this.backend.keys.delete(key);
  }

  protected selected({ owner, unfinished }: ListQuery): TaskRecord[] {
    return [...this.backend.records.values()].filter(
      (record) =>
        !this.expired(record) &&
        (owner === undefined || record.owner === owner) &&
        (unfinished !== true || !("finishedAt" in record)),
    );
  }

  protected compare(a: TaskRecord, b: TaskRecord): number {
    return comparePositions(a, b);
  }

  protected shown(record: TaskRecord): TaskSummary {
    return summarize(record);
  }

  protected publish(taskId: string): void {
    queueMicrotask(() => this.notify(taskId));
  }

  protected subscribe(listener: (taskId: string | null) => void): () => void {
    this.backend.listeners.add(listener);
    return () => this.backend.listeners.delete(listener);
  }

  protected notify(taskId: string | null): void {
    for (const listener of this.backend.listeners) listener(taskId);
  }
}
