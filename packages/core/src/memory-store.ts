/**
 * Tasks in this process: the library's default. Creating, reading and changing a task cost the same however many
 * are retained. Records are replaced, never changed in place; they are frozen copies that nobody can change.
 */
import { changedRecord } from "./changed-record.js";
import type { Clock } from "./clock.js";
import { systemClock } from "./clock.js";
import { decodeCursor, encodeCursor } from "./cursor.js";
import { frozenCopy } from "./frozen-copy.js";
import { checkOptions, having } from "./options.js";
import { PriorityQueue } from "./priority-queue.js";
import type { ListQuery, TaskPage, TaskStore } from "./store.js";
import type { TaskChanges, TaskRecord } from "./task.js";
import { expiresAt, isExpired, isTerminal, summarize } from "./task.js";
import { type Ordered, TaskOrder } from "./task-order.js";

export interface MemoryStoreOptions {
  /** Decides expiry. Default: the host's clock. */
  clock?: Clock;
}

const NEVER = Number.POSITIVE_INFINITY;

interface Entry extends Ordered {
  record: TaskRecord;
  expiresAt: number;
}

interface OwnerIndex {
  order: TaskOrder<Entry>;
  keys: Map<string, Entry>;
}

export class MemoryStore implements TaskStore {
  /** No other process reaches it: leases need no renewal, and nobody else's tasks are ever found here. */
  readonly singleProcess = true;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #owners = new Map<string, OwnerIndex>();
  readonly #everybody = new TaskOrder<Entry>();
  readonly #expiries: PriorityQueue<Entry> = new PriorityQueue((entry) => entry.expiresAt);

  constructor(options: MemoryStoreOptions = {}) {
    checkOptions<MemoryStoreOptions>("MemoryStore", options, { clock: having("a clock", "now") });
    this.#clock = options.clock ?? systemClock;
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    const index = this.#owner(record.owner);
    const holder = record.idempotencyKey === undefined ? undefined : this.#live(index.keys.get(record.idempotencyKey));
    if (holder !== undefined) return holder.record;
    if (this.#entries.has(record.taskId)) throw new Error(`Task id ${record.taskId} is taken.`);
    const { taskId, createdAt } = record;
    const entry: Entry = { taskId, createdAt, removed: false, record: frozenCopy(record), expiresAt: NEVER };
    this.#entries.set(taskId, entry);
    index.order.add(entry);
    this.#everybody.add(entry);
    if (record.idempotencyKey !== undefined) index.keys.set(record.idempotencyKey, entry);
    this.#noteExpiry(entry);
    return entry.record;
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return this.#live(this.#entries.get(taskId))?.record ?? null;
  }

  async list(query: ListQuery): Promise<TaskPage> {
    const position = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const order = query.owner === undefined ? this.#everybody : this.#owners.get(query.owner)?.order;
    const page: TaskPage = { tasks: [] };
    const now = this.#clock.now();
    for (const entry of order?.newestFirst(position) ?? []) {
      if (isExpired(entry.record, now) || (query.unfinished === true && isTerminal(entry.record))) continue;
      const last = page.tasks.at(-1);
      if (last !== undefined && page.tasks.length >= query.limit) return { ...page, nextCursor: encodeCursor(last) };
      page.tasks.push(summarize(entry.record));
    }
    return page;
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    const entry = this.#live(this.#entries.get(taskId));
    if (entry === undefined) return null;
    if (entry.record.version !== expectedVersion) return "conflict";
    entry.record = changedRecord(entry.record, changes);
    this.#noteExpiry(entry);
    return entry.record;
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    return this.#live(this.#owners.get(owner)?.keys.get(idempotencyKey))?.record ?? null;
  }

  async sweep(limit: number): Promise<number> {
    const now = this.#clock.now();
    let removed = 0;
    for (
      let next = this.#expiries.peek();
      removed < limit && next !== undefined && next.expiresAt <= now;
      next = this.#expiries.peek()
    ) {
      this.#expiries.pop();
      this.#remove(next);
      removed += 1;
    }
    return removed;
  }

  #live(entry: Entry | undefined): Entry | undefined {
    // By the entry alone: among many tasks the record lies in no cache of the processor's, and a reader may not need it.
    return entry === undefined || entry.expiresAt <= this.#clock.now() ? undefined : entry;
  }

  #owner(owner: string): OwnerIndex {
    let index = this.#owners.get(owner);
    if (index === undefined) {
      index = { order: new TaskOrder(), keys: new Map() };
      this.#owners.set(owner, index);
    }
    return index;
  }

  #noteExpiry(entry: Entry): void {
    const at = expiresAt(entry.record);
    // Queued once: its place in the queue may not move, nor may it be swept twice.
    if (at === undefined || entry.expiresAt !== NEVER) return;
    entry.expiresAt = at;
    this.#expiries.push(entry);
  }

  #remove(entry: Entry): void {
    const { taskId, owner, idempotencyKey } = entry.record;
    entry.removed = true;
    this.#entries.delete(taskId);
    this.#everybody.forget();
    const index = this.#owners.get(owner);
    if (index === undefined) return;
    index.order.forget();
    // A key that has been free since its task expired may have a new holder, which keeps it.
    if (idempotencyKey !== undefined && index.keys.get(idempotencyKey) === entry) index.keys.delete(idempotencyKey);
    if (index.order.size === 0) this.#owners.delete(owner);
  }
}
