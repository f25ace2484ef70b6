import {
  type ListQuery,
  MemoryStore,
  type TaskChanges,
  type TaskPage,
  type TaskRecord,
  type TaskStore,
} from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";

type Method = "open" | "close" | "create" | "get" | "list" | "update" | "sweep";

/** A call to the store, as a fault sees it. */
export interface StoreCall {
  method: Method;
  changes?: TaskChanges;
  taskId?: string;
}

/** Runs before a call; what it throws the call rejects with, and as long as it takes the call takes longer. */
export type Fault = (call: StoreCall) => unknown;

/** A memory store that can be made to fail, hang or dawdle, and that says what was asked of it. */
export class FaultyStore implements TaskStore {
  readonly clock: FakeClock;
  readonly inner: MemoryStore;
  readonly calls: StoreCall[] = [];
  before: Fault = () => {};
  /** Runs after a read and before its answer. */
  afterRead: () => unknown = () => {};

  constructor(clock: FakeClock = new FakeClock()) {
    this.clock = clock;
    this.inner = new MemoryStore({ clock });
  }

  writes(): StoreCall[] {
    return this.calls.filter(({ method }) => method === "update" || method === "create");
  }

  async open(): Promise<void> {
    await this.#call({ method: "open" });
  }

  async close(): Promise<void> {
    await this.#call({ method: "close" });
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    await this.#call({ method: "create", taskId: record.taskId });
    return this.inner.create(record);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    await this.#call({ method: "get", taskId });
    const task = await this.inner.get(taskId);
    await this.afterRead();
    return task;
  }

  async list(query: ListQuery): Promise<TaskPage> {
    await this.#call({ method: "list" });
    return this.inner.list(query);
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    await this.#call({ method: "update", taskId, changes });
    return this.inner.update(taskId, expectedVersion, changes);
  }

  findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    return this.inner.findByKey(owner, key);
  }

  async sweep(limit: number): Promise<number> {
    await this.#call({ method: "sweep" });
    return this.inner.sweep(limit);
  }

  async #call(call: StoreCall): Promise<void> {
    this.calls.push(call);
    await this.before(call);
  }
}

export const hang = (): Promise<never> => new Promise(() => {});

export const outage = (): never => {
  throw new Error("the store is out");
};
