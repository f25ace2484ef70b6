import { resolve } from "node:path";
import type {
  Clock,
  ListQuery,
  OptionRules,
  RecordChange,
  StoreSignals,
  TaskChanges,
  TaskPage,
  TaskRecord,
  TaskStore,
} from "@claimcheck/core";
import {
  aClock,
  checkOptions,
  durationFrom,
  frozenCopy,
  pageOf,
  RecordChanger,
  type RecordTexts,
  recordOf,
  recordTextsOf,
  summaryOf,
  systemClock,
  TaskError,
} from "@claimcheck/core";
import { searchable } from "./columns.js";
import { loadDriver } from "./driver.js";
import { FileSignals } from "./file-signals.js";
import { FilesInPlace } from "./files-in-place.js";
import { asUnusable, closeDatabase, openDatabase } from "./open-database.js";
import { retryWhileBusy } from "./retry.js";
import { prepareStatements, type Statements } from "./statements.js";
import { changeRow, insertOrFind, listRows, type Row, removeSlice } from "./task-rows.js";
import { WriteQueue } from "./write-queue.js";

export interface SqliteStoreOptions {
  /** The file. Created, for its owner alone to read, if there is none; its folder has to be there. */
  path: string;
  /** Decides expiry. All processes of one file share one host, and so its clock. Default: the host's. */
  clock?: Clock;
  /** How long to wait for another process that writes, before a call rejects. Default: 10,000. */
  busyTimeoutMs?: number;
  /** How often to look for other processes' changes while somebody subscribes to signals. Default: 50. */
  signalIntervalMs?: number;
}

const OPTIONS: OptionRules<SqliteStoreOptions> = {
  path: { what: "the path of a file", takes: (path) => typeof path === "string" },
  clock: aClock,
  busyTimeoutMs: durationFrom(0),
  signalIntervalMs: durationFrom(1),
};

interface Open {
  statements: Statements;
  writes: WriteQueue;
}

/**
 * Tasks in one SQLite file, which several processes of one host may share.
 *
 * A promise that resolves has reached the disk (`synchronous = FULL`): it outlives the process and the power.
 * Signals of another process arrive within `signalIntervalMs`.
 */
export class SqliteStore implements TaskStore {
  readonly signals: StoreSignals;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #busyTimeoutMs: number;
  readonly #fileSignals: FileSignals;
  readonly #changer = new RecordChanger({
    read: (taskId) => this.#read(taskId),
    write: (change) => this.#write(change),
  });
  #opening: Promise<Open> | undefined;
  #open: Open | undefined;
  #closing: Promise<void> | undefined;

  /** @throws TaskError `store_unusable` for a path that no file can have; TypeError, RangeError for what is no option */
  constructor(options: SqliteStoreOptions) {
    checkOptions("SqliteStore", options, OPTIONS);
    this.#path = filePath(options.path);
    this.#clock = options.clock ?? systemClock;
    this.#busyTimeoutMs = options.busyTimeoutMs ?? 10_000;
    this.#fileSignals = new FileSignals(this.#clock, options.signalIntervalMs ?? 50, () => this.#dataVersion());
    this.signals = this.#fileSignals;
  }

  /** @throws TaskError `store_unusable`, saying what is wrong with the file and what would be right */
  async open(): Promise<void> {
    this.#opening ??= this.#openFile();
    const opening = this.#opening;
    try {
      const opened = await opening;
      if (this.#opening === opening) this.#open = opened;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /** Calls that are under way are finished first; later ones reject. */
  async close(): Promise<void> {
    const earlier = this.#closing;
    this.#closing = this.#closeFile();
    await Promise.all([earlier, this.#closing]);
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    const { statements, writes } = this.#opened();
    const texts = recordTextsOf(record);
    const writing = writes.add(() => insertOrFind(statements, created, texts, this.#clock.now()), lengthOf(texts));
    // The write waits for its turn.
    const created = frozenCopy(record);
    const row = await writing;
    if (row === undefined) throw new Error(`The task id ${record.taskId} is taken.`);
    if (row !== texts) return recordOf(row);
    this.#changer.keep(created, texts);
    return created;
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    const row = await this.#read(taskId);
    return row && recordOf(row);
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const { statements } = this.#opened();
    const [ownerText, key] = [searchable(owner), searchable(idempotencyKey)];
    const row = await this.#find(() => statements.byKey.get(ownerText, key, this.#clock.now()));
    return row && recordOf(row);
  }

  async list(query: ListQuery): Promise<TaskPage> {
    const { statements } = this.#opened();
    if (!Number.isSafeInteger(query.limit) || query.limit < 1) {
      throw new RangeError(`The limit of a listing is a whole number of at least 1, not ${query.limit}.`);
    }
    const rows = await retryWhileBusy(() => listRows(statements, query, this.#clock.now()), this.#busyTimeoutMs);
    return pageOf(
      rows.map(({ head }) => summaryOf(head)),
      query.limit,
    );
  }

  update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    return this.#changer.change(taskId, expectedVersion, changes);
  }

  async sweep(limit: number): Promise<number> {
    const { statements, writes } = this.#opened();
    let removed = 0;
    for (let more = true; more && removed < limit; ) {
      const slice = await writes.add(() => removeSlice(statements, this.#clock.now(), limit - removed));
      removed += slice.removed;
      more = slice.more;
    }
    return removed;
  }

  async #openFile(): Promise<Open> {
    const database = await openDatabase(await loadDriver(), this.#path, this.#busyTimeoutMs);
    try {
      const statements = prepareStatements(database);
      const files = new FilesInPlace(this.#path);
      const options = { busyTimeoutMs: this.#busyTimeoutMs, checkFiles: () => files.check() };
      return { statements, writes: new WriteQueue(statements, options) };
    } catch (error) {
      closeDatabase(database);
      throw asUnusable(this.#path, error);
    }
  }

  async #closeFile(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#open = undefined;
    this.#fileSignals.stop();
    this.#changer.clear();
    // An open that failed has told its own caller, and left nothing to close.
    const opened = await opening?.catch(() => undefined);
    if (opened === undefined) return;
    await opened.writes.settled();
    closeDatabase(opened.statements.database);
  }

  #opened(): Open {
    if (this.#open === undefined) throw new TaskError("not_open", `The store at ${this.#path} is not open.`);
    return this.#open;
  }

  #read(taskId: string): Promise<Row | null> {
    const { statements } = this.#opened();
    return this.#find(() => statements.byId.get(searchable(taskId), this.#clock.now()));
  }

  #write(change: RecordChange): Promise<"written" | "conflict" | "gone"> {
    const { statements, writes } = this.#opened();
    return writes.add(() => changeRow(statements, change, this.#clock.now()), lengthOf(change.texts));
  }

  async #find(read: () => unknown): Promise<Row | null> {
    return ((await retryWhileBusy(read, this.#busyTimeoutMs)) as Row | undefined) ?? null;
  }

  #dataVersion(): number | undefined {
    try {
      const row = this.#open?.statements.dataVersion.get() as { data_version: number } | undefined;
      return row?.data_version;
    } catch {
      // Costs a hint at the most; calls say for themselves what is wrong with the file.
      return undefined;
    }
  }
}

/** Of all that is written at once. */
function lengthOf(texts: RecordTexts): number {
  return Object.values(texts).reduce((length, text) => length + (text?.length ?? 0), 0);
}

/** A path comes from the environment, where it may be missing. */
function filePath(path: string | undefined): string {
  if (path === undefined || path === "" || path.startsWith(":memory:") || path.includes("\0")) {
    const problem = `A SQLite store needs the path of a file, not ${JSON.stringify(path)}.`;
    throw new TaskError("store_unusable", `${problem} For tasks that are kept in memory, use MemoryStore.`);
  }
  return resolve(path);
}
