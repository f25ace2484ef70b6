/** Tasks in PostgreSQL: shared by any number of processes, durable as soon as a promise resolves. */
import {
  changedRecord,
  changedTextsOf,
  decodeCursor,
  encodeCursor,
  frozenCopy,
  indexKey,
  isTaskError,
  type ListQuery,
  type Logger,
  RecordCache,
  type RecordTexts,
  recordOf,
  recordTextsOf,
  SignalRelay,
  type StoreSignals,
  stderrLogger,
  summaryOf,
  type TaskChanges,
  TaskError,
  type TaskPage,
  type TaskRecord,
  type TaskStore,
} from "@claimcheck/core";
import { Database } from "./database.js";
import { createClient, createPool, describeUrl, type PostgresPool } from "./driver.js";
import { adviceFor, isConnectionLost, isTaken, withoutData } from "./failures.js";
import { Listener } from "./listener.js";
import { migrate } from "./migrate.js";
import { changingValues, creationValues, type Parameter, payloadsAmong, textsOfRow } from "./rows.js";
import { Schema } from "./schema.js";
import { checkServer } from "./start-checks.js";
import * as statements from "./statements.js";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`. Give either this or `pool`. */
  url?: string;
  /** A pool of `pg`, shared with whatever else uses it; it is left open by `close()`. */
  pool?: PostgresPool;
  /** Where the tables live; created when it is missing. Any name. Default: `claimcheck`. */
  schema?: string;
  /** How many connections a pool made from `url` opens at the most, the one that listens not counted. Default: 10. */
  poolSize?: number;
  /** How long a pool made from `url` waits for a connection. Default: 5 seconds. */
  connectTimeoutMs?: number;
  /** How long a pool made from `url` waits for an answer before it gives a statement up. Default: 30 seconds. */
  queryTimeoutMs?: number;
  /** Prepares statements by name. `false` for poolers that hand connections round by transaction. Default: true. */
  prepare?: boolean;
  /** Wake-up hints by LISTEN and NOTIFY. `false` behind poolers that don't carry them: processes then poll. Default: true. */
  signals?: boolean;
  /** How long after one NOTIFY the next one goes at the earliest; what happens meanwhile goes with it. Default: 50 ms. */
  notifyIntervalMs?: number;
  /** How often the listening connection is asked whether it is alive. Default: 10 seconds. */
  heartbeatMs?: number;
  /** Default: warnings and errors to stderr. */
  logger?: Logger;
}

/** How the store stands with its server. */
export interface PostgresHealth {
  /** `degraded` while wake-ups are missing: everything works, later. `down`: the server could not be reached last. */
  state: "ok" | "degraded" | "down" | "closed";
  signals: "connected" | "reconnecting" | "off";
}

interface Session {
  pool: PostgresPool;
  database: Database;
  listener: Listener | undefined;
}

export class PostgresStore implements TaskStore {
  readonly signals?: StoreSignals;
  readonly #options: PostgresStoreOptions;
  readonly #schema: Schema;
  readonly #where: string;
  readonly #logger: Logger;
  readonly #relay: SignalRelay;
  readonly #cache = new RecordCache();
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws TaskError `store_unusable` for a URL or a schema's name that cannot be used */
  constructor(options: PostgresStoreOptions) {
    if ((options.url === undefined) === (options.pool === undefined)) {
      throw new TaskError("store_unusable", "A PostgreSQL store needs either a URL or a pool.");
    }
    this.#options = options;
    this.#schema = new Schema(options.schema ?? "claimcheck");
    this.#where = options.url === undefined ? "PostgreSQL" : describeUrl(options.url);
    this.#logger = options.logger ?? stderrLogger;
    this.#relay = new SignalRelay({
      send: async (taskIds) => this.#session?.listener?.notify(taskIds),
      intervalMs: options.notifyIntervalMs ?? 50,
      logger: this.#logger,
    });
    if (options.signals !== false) this.signals = this.#relay;
  }

  /** How the store stands with its server, by what was last heard of it; asks nothing. */
  get health(): PostgresHealth {
    const session = this.#session;
    if (session === undefined) return { state: "closed", signals: "off" };
    const signals =
      session.listener === undefined ? "off" : session.listener.isConnected ? "connected" : "reconnecting";
    return { state: session.database.isOut ? "down" : signals === "reconnecting" ? "degraded" : "ok", signals };
  }

  // --- life ------------------------------------------------------------------------------------------------------

  /**
   * Connects, checks the server, brings the tables up to date and begins to listen.
   *
   * @throws TaskError `store_unusable` with what is wrong and what would be right
   */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #open(): Promise<void> {
    await this.#closing;
    const pool = this.#options.pool ?? this.#ownPool();
    const { prepare = true } = this.#options;
    const database = new Database({ pool, schema: this.#schema, where: this.#where, prepare, logger: this.#logger });
    try {
      await this.#prepareServer(pool);
    } catch (error) {
      database.release();
      if (this.#options.pool === undefined) await pool.end().catch(() => {});
      throw this.#unusable(error);
    }
    const listener = this.signals === undefined ? undefined : this.#listen(pool);
    this.#session = { pool, database, listener };
    await listener?.start();
  }

  #ownPool(): PostgresPool {
    const { url = "", poolSize = 10, connectTimeoutMs = 5000, queryTimeoutMs = 30_000 } = this.#options;
    return createPool({ url, poolSize, connectTimeoutMs, queryTimeoutMs });
  }

  async #prepareServer(pool: PostgresPool): Promise<void> {
    const client = await pool.connect();
    let failure: Error | undefined;
    client.on("error", (error) => {
      failure = error;
    });
    try {
      await checkServer(client);
      await migrate(client, this.#schema);
    } catch (error) {
      failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      client.release(failure);
    }
  }

  #unusable(error: unknown): TaskError {
    if (isTaskError(error)) return new TaskError("store_unusable", `${this.#where}: ${error.message}`);
    return new TaskError("store_unusable", withoutData(error, this.#where).message.concat(".", adviceFor(error)));
  }

  #listen(pool: PostgresPool): Listener {
    return new Listener({
      createClient: () => createClient(pool),
      channel: this.#schema.channel,
      logger: this.#logger,
      heartbeatMs: this.#options.heartbeatMs ?? 10_000,
      onConnected: () => this.#relay.connected(),
      onDisconnected: () => this.#relay.disconnected(),
      onTasks: (taskIds) => this.#relay.deliver(taskIds),
    });
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => {});
    this.#opening = undefined;
    const session = this.#session;
    this.#session = undefined;
    this.#cache.clear();
    if (session === undefined) return;
    await session.listener?.close();
    if (this.#options.pool === undefined) await session.pool.end();
    session.database.release();
  }

  get #database(): Database {
    if (this.#session === undefined) throw new TaskError("not_open", "The PostgreSQL store is not open.");
    return this.#session.database;
  }

  // --- records ---------------------------------------------------------------------------------------------------

  async create(record: TaskRecord): Promise<TaskRecord> {
    const created = frozenCopy(record);
    const texts = recordTextsOf(created);
    for (;;) {
      if (await this.#insert(created, texts)) {
        this.#cache.keep(created, texts);
        return created;
      }
      const holder = await this.findByKey(record.owner, record.idempotencyKey ?? "");
      // The holder may have expired since it stood in the way; the key is free then.
      if (holder !== null) return holder;
    }
  }

  /** Whether the record was stored; otherwise a live record holds its key. */
  async #insert(record: TaskRecord, texts: RecordTexts, isAgain = false): Promise<boolean> {
    const statement = record.idempotencyKey === undefined ? statements.CREATE : statements.CREATE_WITH_KEY;
    try {
      return (await this.#database.tell(statement, creationValues(record, texts))).length > 0;
    } catch (error) {
      // Whether the record was stored when the connection broke is not known, but whose it is if its id is taken.
      if (isConnectionLost(error) && !isAgain) return this.#insert(record, texts, true);
      if (isTaken(error) && isAgain) return true;
      throw isTaken(error) ? new Error(`Task id ${record.taskId} is taken.`) : error;
    }
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    const [row] = await this.#database.ask(statements.GET, [indexKey(taskId)]);
    return row === undefined ? null : recordOf(textsOfRow(row));
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const [row] = await this.#database.ask(statements.FIND_BY_KEY, [indexKey(owner), indexKey(idempotencyKey)]);
    return row === undefined ? null : recordOf(textsOfRow(row));
  }

  async list(query: ListQuery): Promise<TaskPage> {
    const { owner, cursor, limit, unfinished = false } = query;
    const position = cursor === undefined ? undefined : decodeCursor(cursor);
    const shape = { owner: owner !== undefined, cursor: cursor !== undefined, unfinished };
    const values: Parameter[] = [limit + 1];
    if (owner !== undefined) values.push(indexKey(owner));
    if (position !== undefined) values.push(position.createdAt, indexKey(position.taskId));
    const rows = await this.#database.ask(statements.listStatement(shape), values);
    const tasks = rows.map((row) => summaryOf(String(row.head)));
    const last = tasks.length > limit ? tasks[limit - 1] : undefined;
    return last === undefined ? { tasks } : { tasks: tasks.slice(0, limit), nextCursor: encodeCursor(last) };
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    const known = this.#cache.at(taskId, expectedVersion) ?? (await this.#readToChange(taskId));
    if (known === null) return null;
    if (known.version !== expectedVersion) return "conflict";
    const next = changedRecord(known, changes);
    const texts = changedTextsOf(next, changes);
    if (await this.#write(known, next, texts)) {
      this.#cache.keep(next, texts);
      return next;
    }
    this.#cache.forget(taskId);
    const exists = await this.#database.ask(statements.EXISTS, [indexKey(taskId)]);
    return exists.length > 0 ? "conflict" : null;
  }

  async #readToChange(taskId: string): Promise<TaskRecord | null> {
    const [row] = await this.#database.ask(statements.GET, [indexKey(taskId)]);
    if (row === undefined) return null;
    const texts = textsOfRow(row);
    const record = frozenCopy(recordOf(texts));
    this.#cache.keep(record, texts);
    return record;
  }

  /** Whether the record still was `known`, and is `next` now. */
  async #write(known: TaskRecord, next: TaskRecord, texts: RecordTexts): Promise<boolean> {
    const payloads = payloadsAmong(texts);
    const values = [indexKey(known.taskId), known.version, known.createdAt, ...changingValues(next, texts)];
    const statement = statements.updateStatement(payloads);
    const written = await this.#database.tell(statement, [...values, ...payloads.map((each) => texts[each] ?? null)]);
    return written.length > 0;
  }

  async sweep(limit: number): Promise<number> {
    const [row] = await this.#database.ask(statements.SWEEP, [limit]);
    return Number(row?.removed ?? 0);
  }

  async now(): Promise<number> {
    const [row] = await this.#database.ask(statements.READ_CLOCK, []);
    return Number(row?.now);
  }
}
