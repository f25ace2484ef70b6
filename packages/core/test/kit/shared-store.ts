import {
  type Clock,
  type ListQuery,
  MemoryStore,
  type StoreSignals,
  type TaskChanges,
  type TaskPage,
  type TaskRecord,
  type TaskStore,
} from "@claimcheck/core";

/** `none`: the store has no signals. `lost`: it has, and none ever arrives. */
export type SignalKind = "delivered" | "lost" | "none";

/** What several processes would share: one memory, any number of handles on it, and hints between them. */
export class SharedBackend {
  readonly memory: MemoryStore;
  readonly #listeners = new Set<(taskId: string | null) => void>();

  constructor(clock: Clock) {
    this.memory = new MemoryStore({ clock });
  }

  handle(signals: SignalKind = "delivered"): SharedStore {
    return new SharedStore(this, signals);
  }

  /** Hints come later, to everybody, the sender too, as those of a database do. */
  publish(taskId: string): void {
    setImmediate(() => {
      for (const listener of this.#listeners) listener(taskId);
    });
  }

  listen(listener: (taskId: string | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** One process's handle. `cut` makes it fail, as a network that is down does. */
export class SharedStore implements TaskStore {
  readonly signals?: StoreSignals;
  readonly updates: TaskChanges[] = [];
  cut = false;
  readonly #backend: SharedBackend;

  constructor(backend: SharedBackend, signals: SignalKind) {
    this.#backend = backend;
    if (signals === "none") return;
    this.signals = {
      publish: (taskId) => (signals === "delivered" && !this.cut ? backend.publish(taskId) : undefined),
      subscribe: (listener) =>
        signals === "delivered" ? backend.listen((taskId) => (this.cut ? undefined : listener(taskId))) : () => {},
    };
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    return this.#memory().create(record);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return this.#memory().get(taskId);
  }

  async list(query: ListQuery): Promise<TaskPage> {
    return this.#memory().list(query);
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    const updated = await this.#memory().update(taskId, expectedVersion, changes);
    this.updates.push(changes);
    return updated;
  }

  async findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    return this.#memory().findByKey(owner, key);
  }

  async sweep(limit: number): Promise<number> {
    return this.#memory().sweep(limit);
  }

  #memory(): MemoryStore {
    if (this.cut) throw new Error("the connection is down");
    return this.#backend.memory;
  }
}
