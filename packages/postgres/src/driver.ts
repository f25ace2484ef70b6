/** The little of `pg` that the store uses, so that any pool of that shape can be handed in. */
import type { ConnectionOptions } from "node:tls";
import { TaskError } from "@claimcheck/core";
import { Client, Pool, type PoolConfig } from "pg";
import type { Parameter, Row } from "./rows.js";

export interface Query {
  text: string;
  values?: readonly Parameter[];
  /** Prepares the statement once a connection. */
  name?: string;
}

export interface Queryable {
  query(query: Query): Promise<{ rows: Row[] }>;
}

/** A connection of its own, as {@link PostgresPool.Client} makes it. */
export interface PostgresClient extends Queryable {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: { channel: string; payload?: string | undefined }) => void): unknown;
}

/** A pool of the `pg` package, or one of its shape. */
export interface PostgresPool extends Queryable {
  connect(): Promise<Queryable & { release(error?: Error | boolean): void; on: PostgresClient["on"] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  readonly options: object;
}

export interface ConnectionSettings {
  url: string;
  tls: ConnectionOptions | undefined;
  poolSize: number;
  connectTimeoutMs: number;
  queryTimeoutMs: number;
}

/** How long an unused connection may be silent before the operating system asks whether the other end is there. */
const KEEP_ALIVE_AFTER_MS = 10_000;

export function createPool(settings: ConnectionSettings): PostgresPool {
  const { tls } = settings;
  const config: PoolConfig = {
    connectionString: connectionString(settings.url, tls !== undefined),
    // A copy: pg hides the key in what it is given.
    ...(tls !== undefined && { ssl: { ...tls } }),
    max: settings.poolSize,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: settings.queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    application_name: "claimcheck",
  };
  return new Pool(config) as unknown as PostgresPool;
}

/** A client with the settings of `pool`, outside it: whoever listens must not take a place from those who ask. */
export function createClient(pool: PostgresPool): PostgresClient {
  return new Client({ ...pool.options, ...secretsOf(pool.options) }) as unknown as PostgresClient;
}

/** Lets go of a connection that may never answer again: saying good-bye would wait for its answer. */
export function abandon(client: PostgresClient): void {
  (client as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
  void client.end().catch(() => {});
}

/** `pg` keeps the password where copying an object does not take it along. */
function secretsOf(options: { password?: unknown }): { password?: string } {
  return options.password === undefined ? {} : { password: options.password as string };
}

/** Where a URL leads, without who goes there and how: fit for messages. */
export function describeUrl(url: string): string {
  const { host, pathname } = new URL(checkedUrl(url));
  return `PostgreSQL at ${host || "its socket"}${pathname}`;
}

/** What a URL may say of TLS, as `pg` reads it. */
const TLS_PARAMETERS = ["ssl", "sslmode", "sslrootcert", "sslcert", "sslkey"];

/** Weaker in libpq, and in `pg` some day; whoever asks for TLS gets a server that has proved who it is. */
const CHECKED_MODES = ["prefer", "require", "verify-ca", "verify-full"];
const UNCHECKED_MODES = ["disable", "no-verify"];

/** What `pg` is to read of the URL. What it says there goes before options of the same meaning. */
function connectionString(text: string, tlsIsGiven: boolean): string {
  const url = new URL(checkedUrl(text));
  const mode = url.searchParams.get("sslmode");
  if (tlsIsGiven) for (const name of TLS_PARAMETERS) url.searchParams.delete(name);
  else if (mode === null || url.searchParams.has("uselibpqcompat")) return text;
  else if (CHECKED_MODES.includes(mode)) url.searchParams.set("sslmode", "verify-full");
  return url.href;
}

function checkedUrl(url: string): string {
  // What the parser says would quote the URL, password included.
  const readable = /^postgres(ql)?:\/\//i.test(url) && URL.canParse(url) && isDecodable(url);
  if (readable) {
    checkMode(new URL(url).searchParams.get("sslmode"));
    return url;
  }
  throw new TaskError(
    "store_unusable",
    "The PostgreSQL URL cannot be read; it looks like postgres://user:password@host:5432/database, with special characters of the password percent-encoded.",
  );
}

function checkMode(mode: string | null): void {
  const modes = [...CHECKED_MODES, ...UNCHECKED_MODES];
  if (mode === null || modes.includes(mode)) return;
  throw new TaskError("store_unusable", `The PostgreSQL URL has an unknown sslmode; it is one of ${modes.join(", ")}.`);
}

function isDecodable(url: string): boolean {
  const { username, password, pathname } = new URL(url);
  try {
    return [username, password, pathname].every((part) => decodeURIComponent(part) !== undefined);
  } catch {
    return false;
  }
}
