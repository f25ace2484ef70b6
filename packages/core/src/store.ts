/**
 * The contract of a store. Every sentence in these doc comments that promises something has a case of the same
 * title in `@claimcheck/store-contract`; a third party runs the same cases.
 */
import type { TaskChanges, TaskRecord, TaskSummary } from "./task.js";

/** Which tasks a listing shows, and where it goes on. */
export interface ListQuery {
  /** Only this owner's tasks. Absent: everybody's (operators and recovery). */
  owner?: string;
  /** How many at the most; a whole number of at least 1. */
  limit: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
  /** Only tasks that have not finished (recovery). */
  unfinished?: boolean;
}

/** One page of a listing. */
export interface TaskPage {
  tasks: TaskSummary[];
  /** Absent on the last page. */
  nextCursor?: string;
}

/** Wake-up hints between processes. Losing one costs latency and nothing else: the truth is always the record. */
export interface StoreSignals {
  /** Says that the task changed. Never throws, never waits. */
  publish(taskId: string): void;
  /**
   * Calls `listener` when some process changed a task; with `null` when it can't be said which.
   *
   * @returns a function that stops the calls
   */
  subscribe(listener: (taskId: string | null) => void): () => void;
}

/**
 * Where records live.
 *
 * - Methods are called as methods and may be called at the same time, from several processes on one store.
 * - Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes
 *   what is stored. NUL characters, lone surrogates, a member named `__proto__` and empty strings survive.
 * - A promise that resolves has been made durable, to the degree that the store promises.
 * - A store that is broken rejects; the caller takes nothing for granted then.
 * - A store never logs a payload.
 */
export interface TaskStore {
  /** Prepares the store. May be called again: a second call changes nothing. Rejects with what is wrong and what would be right. */
  open?(): Promise<void>;
  /** Gives up every handle. May be called again. */
  close?(): Promise<void>;

  /**
   * Stores a new record.
   *
   * - Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is.
   * - Is atomic on owner and key: of any number of concurrent creates with one key, one record exists afterwards.
   * - Keys of different owners never meet. A record without a key never meets another.
   * - A key whose task has expired is free.
   * - A task id that is taken is a rejection and changes nothing.
   */
  create(record: TaskRecord): Promise<TaskRecord>;

  /** The record; `null` when it does not exist, or has expired. */
  get(taskId: string): Promise<TaskRecord | null>;

  /**
   * Records without their payloads, newest first.
   *
   * - The order is total: by `createdAt`, then by `taskId`, both descending.
   * - Expired tasks are left out.
   * - Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile.
   * - Rejects a cursor that it did not make with a `TaskError` of code `invalid_cursor`.
   */
  list(query: ListQuery): Promise<TaskPage>;

  /**
   * Changes a record, if it still has the version that the caller read.
   *
   * - Answers the changed record; its version is one higher.
   * - Answers `"conflict"` when the version has moved on, and changes nothing.
   * - Answers `null` when the task does not exist, or has expired.
   * - Of any number of concurrent updates from one version, one wins.
   * - A member that is `undefined` in `changes` is removed; a member that is not there is left as it is.
   * - All members of one update become visible together.
   */
  update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null>;

  /** The live or finished record that holds the key; `null` when none does, or it has expired. */
  findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null>;

  /**
   * Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many.
   * Left out by stores whose back end expires by itself.
   */
  sweep?(limit: number): Promise<number>;

  /** The clock that expiry and leases are decided by, epoch milliseconds. Left out by stores on the host's own clock. */
  now?(): Promise<number>;

  /** Wake-up hints between processes. Left out by stores that only one process uses. */
  readonly signals?: StoreSignals;

  /** Set by a store that only this process can reach: its leases need no renewal and nothing in it is recovered. */
  readonly singleProcess?: true;
}
