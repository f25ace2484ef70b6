/** Tasks in Redis or Valkey: shared by any number of processes, durable as far as the server keeps what it acknowledges. */
import {
  changedRecord,
  changedTextsOf,
  decodeCursor,
  encodeCursor,
  frozenCopy,
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
  type TaskSummary,
  taskIdsOf,
} from "@claimcheck/core";
import { createClient, describeUrl, type RedisClient } from "./client.js";
import { failureOf, isConnectionLost, RedisFailure } from "./failures.js";
import { Keys, orderOf, ownerDigest, placeOf } from "./keys.js";
import { fieldsOf, RECORD_FIELDS, textsOfFields } from "./record-fields.js";
import { CREATE } from "./scripts/create.js";
import { LIST } from "./scripts/list.js";
import { READ_CLOCK } from "./scripts/read-clock.js";
import { SWEEP } from "./scripts/sweep.js";
import { UPDATE } from "./scripts/update.js";
import { Server } from "./server.js";
import { checkServer } from "./start-checks.js";
import { Subscriber } from "./subscriber.js";

export interface RedisStoreOptions {
  /** `redis://user:password@host:6379/0`, `rediss://` for TLS. Give either this or `client`. */
  url?: string;
  /** A `Redis` or `Cluster` of ioredis, shared with whatever else uses it; it is left open by `close()`. */
  client?: RedisClient;
  /** What all keys begin with, in braces; deployments with different prefixes don't see each other. Default: `claimcheck`. */
  prefix?: string;
  /** How long a client made from `url` waits for a connection. Default: 3 seconds. */
  connectTimeoutMs?: number;
  /** How long a client made from `url` waits for an answer. Default: 5 seconds. */
  commandTimeoutMs?: number;
  /** Wake-up hints by PUBLISH and SUBSCRIBE. `false`: processes poll. Default: true. */
  signals?: boolean;
  /** How long after one PUBLISH the next one goes at the earliest; what happens meanwhile goes with it. Default: 10 ms. */
  notifyIntervalMs?: number;
  /** How often the listening connection is asked whether it is alive. Default: 10 seconds. */
  heartbeatMs?: number;
  /** Default: warnings and errors to stderr. */
  logger?: Logger;
}

/** How the store stands with its server. */
export interface RedisHealth {
  /** `degraded` while wake-ups are missing: everything works, later. `down`: the server could not be reached last. */
  state: "ok" | "degraded" | "down" | "closed";
  signals: "connected" | "reconnecting" | "off";
}

interface Session {
  client: RedisClient;
  server: Server;
  subscriber: Subscriber | undefined;
}

/** How many tasks one script looks at or removes, at the most: scripts hold up everybody else on the server. */
const LARGEST_STEP = 500;

export class RedisStore implements TaskStore {
  readonly signals?: StoreSignals;
  readonly #options: RedisStoreOptions;
  readonly #keys: Keys;
  readonly #where: string;
  readonly #logger: Logger;
  readonly #relay: SignalRelay;
  readonly #cache = new RecordCache();
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws TaskError `store_unusable` for a URL or a prefix that cannot be used */
  constructor(options: RedisStoreOptions) {
    if ((options.url === undefined) === (options.client === undefined)) {
      throw new TaskError("store_unusable", "A Redis store needs either a URL or a client.");
    }
    this.#options = options;
    this.#keys = new Keys(options.prefix ?? "claimcheck");
    this.#where = options.url === undefined ? "Redis" : describeUrl(options.url);
    this.#logger = options.logger ?? stderrLogger;
    this.#relay = new SignalRelay({
      send: async (taskIds) => {
        await this.#session?.server.command("PUBLISH", this.#keys.channel, JSON.stringify(taskIds));
      },
      intervalMs: options.notifyIntervalMs ?? 10,
      logger: this.#logger,
    });
    if (options.signals !== false) this.signals = this.#relay;
  }

  /** How the store stands with its server, by what was last heard of it; asks nothing. */
  get health(): RedisHealth {
    const session = this.#session;
    if (session === undefined) return { state: "closed", signals: "off" };
    const { subscriber } = session;
    const signals = subscriber === undefined ? "off" : subscriber.isConnected ? "connected" : "reconnecting";
    return { state: session.server.isOut ? "down" : signals === "reconnecting" ? "degraded" : "ok", signals };
  }

  // --- life ------------------------------------------------------------------------------------------------------

  /**
   * Connects, checks the server and begins to listen.
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
    const client = this.#options.client ?? this.#ownClient();
    const server = new Server({ client, where: this.#where, logger: this.#logger });
    try {
      await this.#prepareServer(client, server);
    } catch (error) {
      this.#letGo(client, server);
      throw this.#unusable(error);
    }
    const subscriber = this.signals === undefined ? undefined : this.#subscriber(client);
    this.#session = { client, server, subscriber };
    await subscriber?.start();
  }

  #ownClient(): RedisClient {
    const { url = "", connectTimeoutMs = 3000, commandTimeoutMs = 5000 } = this.#options;
    return createClient({ url, connectTimeoutMs, commandTimeoutMs });
  }

  async #prepareServer(client: RedisClient, server: Server): Promise<void> {
    if (client.options?.keyPrefix) {
      throw new TaskError(
        "store_unusable",
        "The client has a keyPrefix, which scripts do not see; leave it out and give the store a prefix.",
      );
    }
    if (client.status === "wait") await server.connect();
    await checkServer(client, this.#logger);
    server.opened();
  }

  #letGo(client: RedisClient, server: Server): void {
    if (this.#options.client === undefined) client.disconnect();
    else server.release();
  }

  #unusable(error: unknown): TaskError {
    if (isTaskError(error)) return new TaskError("store_unusable", `${this.#where}: ${error.message}`);
    const failure = error instanceof RedisFailure ? error : failureOf(error, this.#where);
    return new TaskError("store_unusable", failure.message);
  }

  #subscriber(client: RedisClient): Subscriber {
    return new Subscriber({
      client: client.duplicate(),
      channel: this.#keys.channel,
      logger: this.#logger,
      heartbeatMs: this.#options.heartbeatMs ?? 10_000,
      onConnected: () => this.#relay.connected(),
      onDisconnected: () => this.#relay.disconnected(),
      onMessage: (message) => this.#relay.deliver(taskIdsOf(message)),
    });
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => {});
    this.#opening = undefined;
    const session = this.#session;
    this.#session = undefined;
    this.#cache.clear();
    if (session === undefined) return;
    session.subscriber?.close();
    this.#letGo(session.client, session.server);
  }

  get #server(): Server {
    if (this.#session === undefined) throw new TaskError("not_open", "The Redis store is not open.");
    return this.#session.server;
  }

  // --- records ---------------------------------------------------------------------------------------------------

  async create(record: TaskRecord): Promise<TaskRecord> {
    const created = frozenCopy(record);
    const texts = recordTextsOf(created);
    const create = creationOf(created, texts, this.#keys);
    for (;;) {
      const holder = await this.#store(created, create);
      if (holder === null) {
        this.#cache.keep(created, texts);
        return created;
      }
      const earlier = await this.#read(this.#keys.taskBase + holder);
      // The holder may have expired since it stood in the way; the key is free then.
      if (earlier !== null) return earlier;
    }
  }

  /** Answers the holder of the record's key, or `null` when the record was stored. */
  async #store(record: TaskRecord, create: Creation, isAgain = false): Promise<string | null> {
    try {
      return (await this.#server.run(CREATE, create.keys, create.args)) as string | null;
    } catch (error) {
      // Whether the record was stored when the connection broke is not known, but whose it is if its id is taken.
      if (isConnectionLost(error) && !isAgain) return this.#store(record, create, true);
      const isTaken = error instanceof RedisFailure && error.code === "TAKEN";
      if (isTaken && isAgain) return null;
      throw isTaken ? new Error(`Task id ${record.taskId} is taken.`) : error;
    }
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return this.#read(this.#keys.task(taskId));
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const holder = await this.#ask("GET", this.#keys.holder(ownerDigest(owner), idempotencyKey));
    return typeof holder === "string" ? this.#read(this.#keys.taskBase + holder) : null;
  }

  async #read(key: string): Promise<TaskRecord | null> {
    const texts = await this.#readTexts(key);
    return texts === null ? null : recordOf(texts);
  }

  async #readTexts(key: string): Promise<RecordTexts | null> {
    return textsOfFields((await this.#ask("HMGET", key, ...RECORD_FIELDS)) as (string | null)[]);
  }

  #ask(command: string, ...args: string[]): Promise<unknown> {
    const server = this.#server;
    return server.ask(() => server.command(command, ...args));
  }

  async list({ owner, cursor, limit, unfinished }: ListQuery): Promise<TaskPage> {
    let from = cursor === undefined ? "+" : `(${orderOf(decodeCursor(cursor))}`;
    const digest = owner === undefined ? "" : ownerDigest(owner);
    const tasks: TaskSummary[] = [];
    for (let more = true; more && tasks.length <= limit; ) {
      const step = Math.min(limit + 1 - tasks.length, LARGEST_STEP);
      const [seen, last, heads] = await this.#stretch(this.#listing(digest, unfinished), from, step, digest);
      tasks.push(...heads.map(summaryOf));
      from = `(${last}`;
      more = seen === step;
    }
    const end = tasks.length > limit ? tasks[limit - 1] : undefined;
    return end === undefined ? { tasks } : { tasks: tasks.slice(0, limit), nextCursor: encodeCursor(end) };
  }

  #listing(digest: string, unfinished: boolean | undefined): string {
    // What runs is little beside what an owner has; so it is looked through for the owner, not the other way round.
    if (unfinished === true) return this.#keys.unfinished;
    return digest === "" ? this.#keys.everybody : this.#keys.ownerBase + digest;
  }

  async #stretch(listing: string, from: string, step: number, digest: string): Promise<Stretch> {
    const server = this.#server;
    const args = [from, step, this.#keys.taskBase, digest];
    return (await server.ask(() => server.run(LIST, [listing], args))) as Stretch;
  }

  async update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    const known = this.#cache.at(taskId, expectedVersion) ?? (await this.#readToChange(taskId));
    if (known === null) return null;
    if (known.version !== expectedVersion) return "conflict";
    const next = changedRecord(known, changes);
    const texts = changedTextsOf(next, changes);
    const answer = await this.#write(known, changes.finishedAt, fieldsOf(next.version, texts));
    if (answer === "written") {
      this.#cache.keep(next, texts);
      return next;
    }
    this.#cache.forget(taskId);
    return answer === "conflict" ? "conflict" : null;
  }

  async #readToChange(taskId: string): Promise<TaskRecord | null> {
    const texts = await this.#readTexts(this.#keys.task(taskId));
    if (texts === null) return null;
    const record = frozenCopy(recordOf(texts));
    this.#cache.keep(record, texts);
    return record;
  }

  async #write(known: TaskRecord, finishedAt: number | undefined, fields: string[]): Promise<unknown> {
    const keys = [this.#keys.task(known.taskId), this.#keys.unfinished, this.#keys.expiry];
    const args = [String(known.version), placeOf(known), finishedAt === undefined ? "" : String(finishedAt), ...fields];
    return this.#server.run(UPDATE, keys, args);
  }

  async sweep(limit: number): Promise<number> {
    const keys = [this.#keys.expiry, this.#keys.everybody, this.#keys.unfinished];
    let removed = 0;
    for (let more = true; more && removed < limit; ) {
      const step = Math.min(limit - removed, LARGEST_STEP);
      const args = [step, this.#keys.ownerBase, this.#keys.taskBase];
      const swept = Number(await this.#server.run(SWEEP, keys, args));
      removed += swept;
      more = swept === step;
    }
    return removed;
  }

  async now(): Promise<number> {
    const server = this.#server;
    return Number(await server.ask(() => server.run(READ_CLOCK, [this.#keys.everybody])));
  }
}

type Stretch = [seen: number, last: string, heads: string[]];

interface Creation {
  keys: string[];
  args: string[];
}

/** What the script that creates records takes. */
function creationOf(record: TaskRecord, texts: RecordTexts, keys: Keys): Creation {
  const { idempotencyKey, ttlMs, version } = record;
  const taskKey = keys.task(record.taskId);
  const digest = ownerDigest(record.owner);
  const holder = idempotencyKey === undefined ? [] : [keys.holder(digest, idempotencyKey)];
  const finishedAt = "finishedAt" in record ? String(record.finishedAt) : "";
  return {
    keys: [taskKey, keys.ownerBase + digest, keys.everybody, keys.unfinished, keys.expiry, ...holder],
    args: [
      ...[taskKey.slice(keys.taskBase.length), keys.taskBase, digest + orderOf(record), String(ttlMs), finishedAt],
      ...fieldsOf(version, texts),
    ],
  };
}
