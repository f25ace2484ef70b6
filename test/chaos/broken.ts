/** Runtimes that are wrong in one way each, to prove that the checker finds what it is there to find. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Attempt,
  type Clock,
  type ListQuery,
  systemClock,
  type TaskChanges,
  type TaskPage,
  type TaskRecord,
  type TaskRuntime,
  type TaskStore,
} from "@claimcheck/core";
import { PassedOnStore } from "./watched-store.js";

export interface Broken {
  clock?: Clock;
  store?: (inner: TaskStore) => TaskStore;
  /** Breaks the runtime that is on `store`. */
  runtime?: (runtime: TaskRuntime, store: TaskStore) => void;
}

type Updated = TaskRecord | "conflict" | null;
const isEnd = ({ finishedAt }: TaskChanges): boolean => finishedAt !== undefined;

/** A process takes the last lease that it had for the one that stands. */
class FencingOff extends PassedOnStore {
  readonly #leases = new Map<string, Attempt>();

  override async create(record: TaskRecord): Promise<TaskRecord> {
    const created = await super.create(record);
    if (created.taskId === record.taskId) this.#leases.set(record.taskId, record.attempt);
    return created;
  }

  override async get(taskId: string): Promise<TaskRecord | null> {
    const [task, attempt] = [await super.get(taskId), this.#leases.get(taskId)];
    return task === null || attempt === undefined || "finishedAt" in task ? task : { ...task, attempt };
  }

  override async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    const updated = await super.update(taskId, expectedVersion, changes);
    if (changes.attempt?.state === "leased" && updated !== "conflict") this.#leases.set(taskId, changes.attempt);
    return updated;
  }
}

/** Writes, whatever version the caller read, if `despite` says so. */
class Overwriting extends PassedOnStore {
  readonly #despite: (changes: TaskChanges) => boolean;

  constructor(inner: TaskStore, despite: (changes: TaskChanges) => boolean) {
    super(inner);
    this.#despite = despite;
  }

  override async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    let updated = await super.update(taskId, expectedVersion, changes);
    while (updated === "conflict" && this.#despite(changes)) {
      const current = await super.get(taskId);
      if (current === null) return null;
      updated = await super.update(taskId, current.version, changes);
    }
    return updated;
  }
}

/** Looks for the key's holder, and then inserts: the key that it stores is never taken. */
class CheckThenInsert extends PassedOnStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    const { owner, idempotencyKey } = record;
    if (idempotencyKey === undefined) return super.create(record);
    const holder = await this.findByKey(owner, idempotencyKey);
    if (holder !== null) return holder;
    await super.create({ ...record, idempotencyKey: `${idempotencyKey}/${record.taskId}` });
    return record;
  }

  override async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const { tasks } = await super.list({ owner, limit: 1000 });
    const holder = tasks.find((task) => task.idempotencyKey?.startsWith(`${idempotencyKey}/`));
    if (holder === undefined) return null;
    const task = await super.get(holder.taskId);
    return task === null ? null : { ...task, idempotencyKey };
  }
}

/** Acknowledges a creation that is still on its way. */
class NotDurable extends PassedOnStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    if (record.idempotencyKey !== undefined) return super.create(record);
    void sleep(300).then(() => super.create(record).catch(() => {}));
    return record;
  }

  override async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    for (let tries = 0; tries < 50 && (await super.get(taskId)) === null; tries += 1) await sleep(20);
    return super.update(taskId, expectedVersion, changes);
  }
}

/** Shows every lease of another process as one that has run out. */
class PeersLookLost extends PassedOnStore {
  readonly #mine = new Set<string>();

  override create(record: TaskRecord): Promise<TaskRecord> {
    if (record.attempt.state === "leased") this.#mine.add(record.attempt.runnerId);
    return super.create(record);
  }

  override update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    if (changes.attempt?.state === "leased") this.#mine.add(changes.attempt.runnerId);
    return super.update(taskId, expectedVersion, changes);
  }

  override async get(taskId: string): Promise<TaskRecord | null> {
    const task = await super.get(taskId);
    return task === null ? null : this.#lost(task);
  }

  override async list(query: ListQuery): Promise<TaskPage> {
    const page = await super.list(query);
    return { ...page, tasks: page.tasks.map((task) => this.#lost(task)) };
  }

  #lost<T extends { attempt: Attempt }>(task: T): T {
    const { attempt } = task;
    if (attempt.state !== "leased" || this.#mine.has(attempt.runnerId)) return task;
    return { ...task, attempt: { ...attempt, leaseUntilAt: 0 } };
  }
}

/** Writes the end of a task first, and what it came to a moment later. */
class PayloadLate extends PassedOnStore {
  override async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<Updated> {
    const { outcome } = changes;
    if (outcome?.kind !== "result") return super.update(taskId, expectedVersion, changes);
    const ended = await super.update(taskId, expectedVersion, { ...changes, outcome: { kind: "result", result: {} } });
    if (ended === "conflict" || ended === null) return ended;
    await sleep(100);
    return super.update(taskId, ended.version, { outcome });
  }
}

/** By this a runner never sees its lease pass: one that does stops by itself, and rarely comes to what the store forbids. */
const STANDING: Clock = { ...systemClock, elapsed: () => 0 };

/** By this a runner that wakes does not hear at once what others have written meanwhile. */
function withoutSignals(inner: TaskStore): TaskStore {
  const store: { signals?: unknown } & TaskStore = new PassedOnStore(inner);
  delete store.signals;
  return store;
}

export const BROKEN = {
  "fencing-off": { store: (inner) => new FencingOff(inner), clock: STANDING },
  "compare-and-set-off": { store: (inner) => new Overwriting(withoutSignals(inner), () => true), clock: STANDING },
  "ends-not-final": { store: (inner) => new Overwriting(withoutSignals(inner), isEnd), clock: STANDING },
  "create-not-atomic": { store: (inner) => new CheckThenInsert(inner) },
  "create-not-durable": { store: (inner) => new NotDurable(inner) },
  "recovers-the-living": { store: (inner) => new PeersLookLost(inner) },
  "payload-late": { store: (inner) => new PayloadLate(inner) },
  "owners-unchecked": {
    runtime: (runtime, store) =>
      Object.assign(runtime, {
        get: (_owner: string, taskId: string) => store.get(taskId),
        list: () => store.list({ limit: 50 }),
      }),
  },
  "never-recovers": {
    store: (inner) =>
      Object.assign(new PassedOnStore(inner), {
        list: (query: ListQuery) => (query.unfinished === true ? Promise.resolve({ tasks: [] }) : inner.list(query)),
      }),
  },
} satisfies Record<string, Broken>;

export type BrokenName = keyof typeof BROKEN;
