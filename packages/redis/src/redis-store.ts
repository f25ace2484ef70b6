/** Tasks in Redis or Valkey: shared by any number of processes, durable as far as the server keeps what it acknowledges. */
import type { ConnectionOptions } from "node:tls";
import {
  aLogger,
  anObject,
  anything,
  checkOptions,
  decodeCursor,
  durationFrom,
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
  type TaskSummary,
  taskIdsOf,
  trueOrFalse,
} from "@claimcheck/core";
import { createClient, describeUrl, listeningClient, type RedisClient } from "./client.js";
import { isConnectionLost, openingFailure, RedisFailure } from "./failures.js";
import { Keys, orderOf, ownerDigest, placeOf } from "./keys.js";
import { fieldsOf, RECORD_FIELDS, textsOfFields } from "./record-fields.js";
import { CREATE, creationOf } from "./scripts/create.js";
import { endOf } from "./scripts/expire.js";
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
  /**
   * What a client made from `url` needs for TLS beyond `rediss://`, as `tls.connect` of Node takes it: `ca`, `cert`, `key`,
   * `servername`, `rejectUnauthorized`. Where it is given, TLS is used whatever the scheme of the URL.
   */
  tls?: ConnectionOptions;
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

const OPTIONS: OptionRules<RedisStoreOptions> = {
  url: someText,
  // By connect, which asks it what it is.
  client: anything,
  tls: anObject,
  // By Keys.
  prefix: anything,
  connectTimeoutMs: durationFrom(0),
  commandTimeoutMs: durationFrom(0),
  signals: trueOrFalse,
  notifyIntervalMs: durationFrom(0),
  heartbeatMs: durationFrom(1),
  logger: aLogger,
};

class Session implements ServerSession {
  readonly server: Server;
  readonly #subscriber: Subscriber | undefined;
  readonly #channel: string;
  readonly #letGo: () => void;

  constructor(server: Server, subscriber: Subscriber | undefined, channel: string, letGo: () => void) {
    this.server = server;
    this.#subscriber = subscriber;
    this.#channel = channel;
    this.#letGo = letGo;
  }

  get isOut(): boolean {
    return this.server.isOut;
  }

  get isListening(): boolean | undefined {
    return this.#subscriber?.isConnected;
  }

  async listen(): Promise<void> {
    await this.#subscriber?.start();
  }

  async publish(taskIds: string[] | null): Promise<void> {
    await this.server.command("PUBLISH", this.#channel, JSON.stringify(taskIds));
  }

  async close(): Promise<void> {
    this.#subscriber?.close();
    this.#letGo();
  }
}

/** How many tasks one script looks at or removes, at the most: scripts hold up everybody else on the server. */
const LARGEST_STEP = 500;

export class RedisStore extends ServerStore<Session> {
  readonly #options: RedisStoreOptions;
  readonly #keys: Keys;
  readonly #where: string;
  readonly #logger: Logger;

  /** @throws TaskError `store_unusable` for a URL or a prefix that cannot be used; TypeError, RangeError for what is no option */
  constructor(options: RedisStoreOptions) {
    checkOptions("RedisStore", options, OPTIONS);
    if ((options.url === undefined) === (options.client === undefined)) {
      throw new TaskError("store_unusable", "A Redis store needs either a URL or a client.");
    }
    const { signals = true, notifyIntervalMs = 10, logger = stderrLogger } = options;
    super({ kind: "Redis", signals, notifyIntervalMs, logger });
    this.#options = options;
    this.#keys = new Keys(options.prefix ?? "claimcheck");
    this.#where = options.url === undefined ? "Redis" : describeUrl(options.url, options.tls !== undefined);
    this.#logger = logger;
  }

  /** Connects, and checks the server. */
  protected async connect(): Promise<Session> {
    const client = this.#options.client ?? this.#ownClient();
    const server = new Server({ client, where: this.#where, logger: this.#logger });
    const letGo = (): void => this.#letGo(client, server);
    try {
      await this.#prepareServer(client, server);
    } catch (error) {
      letGo();
      throw this.#unusable(error);
    }
    const subscriber = this.signals === undefined ? undefined : this.#subscriber(client);
    return new Session(server, subscriber, this.#keys.channel, letGo);
  }

  #ownClient(): RedisClient {
    const { url = "", tls, connectTimeoutMs = 3000, commandTimeoutMs = 5000 } = this.#options;
    return createClient({ url, tls, connectTimeoutMs, commandTimeoutMs });
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
    return new TaskError("store_unusable", openingFailure(error, this.#where));
  }

  #subscriber(client: RedisClient): Subscriber {
    return new Subscriber({
      client: listeningClient(client),
      channel: this.#keys.channel,
      logger: this.#logger,
      heartbeatMs: this.#options.heartbeatMs ?? 10_000,
      onConnected: () => this.relay.connected(),
      onDisconnected: () => this.relay.disconnected(),
      onMessage: (message) => this.relay.deliver(taskIdsOf(message)),
    });
  }

  protected async insert(record: TaskRecord, texts: RecordTexts): Promise<"stored" | "key_held" | "id_taken"> {
    const { keys, args } = creationOf(record, texts, this.#keys);
    try {
      return (await this.session.server.run(CREATE, keys, args)) === null ? "stored" : "key_held";
    } catch (error) {
      if (error instanceof RedisFailure && error.code === "TAKEN") return "id_taken";
      throw error;
    }
  }

  protected isConnectionLost(error: unknown): boolean {
    return isConnectionLost(error);
  }

  async get(taskId: string): Promise<TaskRecord | null> {
    return recordAmong(await this.read(taskId));
  }

  protected read(taskId: string): Promise<RecordTexts | null> {
    return this.#read(this.#keys.task(taskId));
  }

  async findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null> {
    const holder = await this.#ask("GET", this.#keys.holder(ownerDigest(owner), idempotencyKey));
    return typeof holder === "string" ? recordAmong(await this.#read(this.#keys.taskBase + holder)) : null;
  }

  async #read(key: string): Promise<RecordTexts | null> {
    return textsOfFields((await this.#ask("HMGET", key, ...RECORD_FIELDS)) as (string | null)[]);
  }

  #ask(command: string, ...args: string[]): Promise<unknown> {
    const server = this.session.server;
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
    return pageOf(tasks, limit);
  }

  #listing(digest: string, unfinished: boolean | undefined): string {
    // What runs is little beside what an owner has; so it is looked through for the owner, not the other way round.
    if (unfinished === true) return this.#keys.unfinished;
    return digest === "" ? this.#keys.everybody : this.#keys.ownerBase + digest;
  }

  async #stretch(listing: string, from: string, step: number, digest: string): Promise<Stretch> {
    const server = this.session.server;
    const args = [from, step, this.#keys.taskBase, digest];
    return (await server.ask(() => server.run(LIST, [listing], args))) as Stretch;
  }

  protected async write({ known, next, texts, finishedAt }: RecordChange): Promise<"written" | "conflict" | "gone"> {
    const { taskId, owner, idempotencyKey, ttlMs, version } = known;
    const keys = [this.#keys.task(taskId), this.#keys.unfinished, this.#keys.expiry];
    if (idempotencyKey !== undefined) keys.push(this.#keys.holder(ownerDigest(owner), idempotencyKey));
    const args = [String(version), placeOf(known), ...endOf(finishedAt, ttlMs), ...fieldsOf(next.version, texts)];
    return (await this.session.server.run(UPDATE, keys, args)) as "written" | "conflict" | "gone";
  }

  async sweep(limit: number): Promise<number> {
    const keys = [this.#keys.expiry, this.#keys.everybody, this.#keys.unfinished];
    let removed = 0;
    for (let more = true; more && removed < limit; ) {
      const step = Math.min(limit - removed, LARGEST_STEP);
      const args = [step, this.#keys.ownerBase, this.#keys.taskBase];
      const swept = Number(await this.session.server.run(SWEEP, keys, args));
      removed += swept;
      more = swept === step;
    }
    return removed;
  }

  async now(): Promise<number> {
    const server = this.session.server;
    return Number(await server.ask(() => server.run(READ_CLOCK, [this.#keys.everybody])));
  }
}

type Stretch = [seen: number, last: string, heads: string[]];

function recordAmong(texts: RecordTexts | null): TaskRecord | null {
  return texts === null ? null : recordOf(texts);
}
