/** The little of `pg` that the store uses, so that any pool of that shape can be handed in. */

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
  poolSize: number;
  connectTimeoutMs: number;
  queryTimeoutMs: number;
}

/** How long an unused connection may be silent before the operating system asks whether the other end is there. */
const KEEP_ALIVE_AFTER_MS = 10_000;

export function createPool(settings: ConnectionSettings): PostgresPool {
  const config: PoolConfig = {
    connectionString: checkedUrl(settings.url),
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

function checkedUrl(url: string): string {
  // What the parser says would quote the URL, password included.
  const readable = /^postgres(ql)?:\/\//i.test(url) && URL.canParse(url) && isDecodable(url);
  if (readable) return url;
  throw new TaskError(
    "store_unusable",
    "The PostgreSQL URL cannot be read; it looks like postgres://user:password@host:5432/database, with special characters of the password percent-encoded.",
  );
}

function isDecodable(url: string): boolean {
  const { username, password, pathname } = new URL(url);
  try {
    return [username, password, pathname].every((part) => decodeURIComponent(part) !== undefined);
  } catch {
    return false;
  }
}
