/** Tasks in PostgreSQL: shared by any number of processes, durable as soon as a promise resolves. */
import type { ConnectionOptions } from "node:tls";
import {
  aLogger,
  anObject,
  anything,
  checkOptions,
  decodeCursor,
  durationFrom,
  having,
  indexKey,
  isTaskError,
  type ListQuery,
  type Logger,
  type OptionRules,
  pageOf,
  type RecordChange,
  type RecordTexts,
  recordOf,
  type ServerSession,
  ServerStore,
  someText,
  stderrLogger,
  summaryOf,
  TaskError,
  type TaskPage,
  type TaskRecord,
  textOfThrown,
  trueOrFalse,
  wholeNumberFrom,
} from "@claimcheck/core";
import { Database } from "./database.js";
import { createClient, createPool, describeUrl, type PostgresPool } from "./driver.js";
import { adviceFor, isConnectionLost, isTaken, withoutData } from "./failures.js";
import { Listener } from "./listener.js";
import { migrate } from "./migrate.js";
import { changingValues, creationValues, type Parameter, payloadsAmong, textsOfRow } from "./rows.js";
import { Schema } from "./schema.js";
import { checkServer } from "./start-checks.js";
import * as statements from "./statements/index.js";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`. Give either this or `pool`. */
  url?: string;
  /** A pool of `pg`, shared with whatever else uses it; it is left open by `close()`. */
  pool?: PostgresPool;
  /**
   * What connections made from `url` need for TLS, as `tls.connect` of Node takes it: `ca`, `cert`, `key`, `servername`,
   * `rejectUnauthorized`. Where it is given, TLS is used, and what the URL says of it (`sslmode`, …) does not count.
   */
  tls?: ConnectionOptions;
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

const OPTIONS: OptionRules<PostgresStoreOptions> = {
  url: someText,
  pool: having("a pool of pg", "connect", "query"),
  tls: anObject,
  // By Schema.
  schema: anything,
  poolSize: wholeNumberFrom(1),
  connectTimeoutMs: durationFrom(0),
  queryTimeoutMs: durationFrom(0),
  prepare: trueOrFalse,
  signals: trueOrFalse,
  notifyIntervalMs: durationFrom(0),
  heartbeatMs: durationFrom(1),
  logger: aLogger,
};

class Session implements ServerSession {
  readonly database: Database;
  readonly #pool: PostgresPool;
  readonly #listener: Listener | undefined;
  readonly #ownsPool: boolean;

  constructor(database: Database, listener: Listener | undefined, pool: PostgresPool, ownsPool: boolean) {
    this.database = database;
    this.#listener = listener;
    this.#pool = pool;
    this.#ownsPool = ownsPool;
  }

  get isOut(): boolean {
    return this.database.isOut;
  }

  get isListening(): boolean | undefined {
    return this.#listener?.isConnected;
  }

  async listen(): Promise<void> {
    await this.#listener?.start();
  }

  async publish(taskIds: string[] | null): Promise<void> {
    await this.#listener?.notify(taskIds);
  }

  async close(): Promise<void> {
    try {
      await this.#listener?.close();
      if (this.#ownsPool) await this.#pool.end();
    } finally {
      this.database.release();
    }
  }
}

export class PostgresStore extends ServerStore<Session> {
  readonly #options: PostgresStoreOptions;
  readonly #schema: Schema;
  readonly #where: string;
  readonly #logger: Logger;

  /** @throws TaskError `store_unusable` for a URL or a schema's name that cannot be used; TypeError, RangeError for what is no option */
  constructor(options: PostgresStoreOptions) {
    checkOptions("PostgresStore", options, OPTIONS);
    if ((options.url === undefined) === (options.pool === undefined)) {
      throw new TaskError("store_unusable", "A PostgreSQL store needs either a URL or a pool.");
    }
    const { signals = true, notifyIntervalMs = 50, logger = stderrLogger } = options;
    super({ kind: "PostgreSQL", signals, notifyIntervalMs, logger });
    this.#options = options;
    this.#schema = new Schema(options.schema ?? "claimcheck");
    this.#where = options.url === undefined ? "PostgreSQL" : describeUrl(options.url);
    this.#logger = logger;
  }

  /** Connects, checks the server, and brings the tables up to date. */
  protected async connect(): Promise<Session> {
    const pool = this.#options.pool ?? this.#ownPool();
    const ownsPool = this.#options.pool === undefined;
    const { prepare = true } = this.#options;
    const database = new Database({ pool, schema: this.#schema, where: this.#where, prepare, logger: this.#logger });
    try {
      await this.#prepareServer(pool);
    } catch (error) {
      database.release();
      if (ownsPool) await pool.end().catch(() => {});
      throw this.#unusable(error);
    }
    const listener = this.signals === undefined ? undefined : this.#listener(pool);
    return new Session(database, listener, pool, ownsPool);
  }

  #ownPool(): PostgresPool {
    const { url = "", tls, poolSize = 10, connectTimeoutMs = 5000, queryTimeoutMs = 30_000 } = this.#options;
    return createPool({ url, tls, poolSize, connectTimeoutMs, queryTimeoutMs });
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
      failure ??= error instanceof Error ? error : new Error(textOfThrown(error));
      throw error;
    } finally {
      client.release(failure);
    }
  }

  #unusable(error: unknown): TaskError {
    if (isTaskError(error)) return new TaskError("store_unusable", `${this.#where}: ${error.message}`);
    return new TaskError("store_unusable", withoutData(error, this.#where).message.concat(".", adviceFor(error)));
  }

  #listener(pool: PostgresPool): Listener {
    return new Listener({
      createClient: () => createClient(pool),
      channel: this.#schema.channel,
      logger: this.#logger,
      heartbeatMs: this.#options.heartbeatMs ?? 10_000,
      onConnected: () => this.relay.connected(),
      onDisconnected: () => this.relay.disconnected(),
      onTasks: (taskIds) => this.relay.deliver(taskIds),
    });
  }

  protected async insert(record: TaskRecord, texts: RecordTexts): Promise<"stored" | "key_held" | "id_taken"> {
    const statement = record.idempotencyKey === undefined ? statements.CREATE : statements.CREATE_WITH_KEY;
    try {
      const stored = await this.session.database.tell(statement, creationValues(record, texts));
      return stored.length > 0 ? "stored" : "key_held";
    } catch (error) {
      if (isTaken(error)) return "id_taken";
      throw error;
    }
  }

  protected isConnectionLost(error: unknown): boolean {
    return isConnectionLost(error);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    const texts = await this.read(taskId);
    return texts === null ? null : recordOf(texts);
  }

  protected async read(taskId: string): Promise<RecordTexts | null> {
    const [row] = await this.session.database.ask(statements.GET, [indexKey(taskId)]);
    return row === undefined ? null : textsOfRow(row);
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const [row] = await this.session.database.ask(statements.FIND_BY_KEY, [indexKey(owner), indexKey(idempotencyKey)]);
    return row === undefined ? null : recordOf(textsOfRow(row));
  }

  async list(query: ListQuery): Promise<TaskPage> {
    const { owner, cursor, limit, unfinished = false } = query;
    const position = cursor === undefined ? undefined : decodeCursor(cursor);
    const shape = { owner: owner !== undefined, cursor: cursor !== undefined, unfinished };
    const values: Parameter[] = [limit + 1];
    if (owner !== undefined) values.push(indexKey(owner));
    if (position !== undefined) values.push(position.createdAt, indexKey(position.taskId));
    const rows = await this.session.database.ask(statements.listStatement(shape), values);
    return pageOf(
      rows.map((row) => summaryOf(String(row.head))),
      limit,
    );
  }

  protected async write({ known, next, texts }: RecordChange): Promise<"written" | "conflict" | "gone"> {
    const { database } = this.session;
    const taskId = indexKey(known.taskId);
    const payloads = payloadsAmong(texts);
    const values = [taskId, known.version, known.createdAt, ...changingValues(next, texts)];
    const statement = statements.updateStatement(payloads);
    const written = await database.tell(statement, [...values, ...payloads.map((each) => texts[each] ?? null)]);
    if (written.length > 0) return "written";
    return (await database.ask(statements.EXISTS, [taskId])).length > 0 ? "conflict" : "gone";
  }

  async sweep(limit: number): Promise<number> {
    const [row] = await this.session.database.ask(statements.SWEEP, [limit]);
    return Number(row?.removed ?? 0);
  }

  async now(): Promise<number> {
    const [row] = await this.session.database.ask(statements.READ_CLOCK, []);
    return Number(row?.now);
  }
}
