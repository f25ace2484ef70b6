/** The little of a Redis client that the store uses, so that a client of ioredis, or a cluster of one, can be handed in. */
import type { ConnectionOptions } from "node:tls";
import { TaskError } from "@claimcheck/core";
import { Redis } from "ioredis";

/** `Redis` or `Cluster` of ioredis, or a client of their shape. */
export interface RedisClient {
  readonly status: string;
  readonly options?: { keyPrefix?: string | undefined };
  /** On a cluster: the nodes that hold keys. */
  nodes?(role: "master"): RedisClient[];
  connect(): Promise<void>;
  /** Sends a command. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  /** A client with the same options, but for `override`; a cluster's takes none of that shape. */
  duplicate(override?: object): RedisClient;
  /** Ends the connection, or makes it anew. */
  disconnect(reconnect?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "ready" | "close", listener: () => void): unknown;
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

export interface ConnectionSettings {
  url: string;
  tls: ConnectionOptions | undefined;
  connectTimeoutMs: number;
  commandTimeoutMs: number;
}

/** Between attempts to connect: short at first, as most breaks are, and never so long that a command waits for it. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** How long the other end may take to agree to a close; the client waits it out, and its process with it, where none answers. */
const CLOSE_MS = 200;

/** How long an unused connection may be silent before the operating system asks whether the other end is there. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * A client that fails fast: a command that its connection breaks under, or that the next attempt to connect does not
 * help, is rejected. Commands are never sent twice behind the caller's back.
 */
export function createClient(settings: ConnectionSettings): RedisClient {
  const client = new Redis(checkedUrl(settings.url), {
    ...(settings.tls !== undefined && { tls: settings.tls }),
    lazyConnect: true,
    connectionName: "claimcheck",
    connectTimeout: settings.connectTimeoutMs,
    commandTimeout: settings.commandTimeoutMs,
    // A connection that leaves commands unanswered is made anew: only sending on would ever find out that it is dead.
    socketTimeout: settings.commandTimeoutMs,
    keepAlive: KEEP_ALIVE_AFTER_MS,
    disconnectTimeout: CLOSE_MS,
    // Rejects what is under way as soon as the connection closes; without the two, such commands stay open for ever.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: true,
    retryStrategy: (attempt) => Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS),
    // After a fail-over the name leads to another server, and this connection to one that takes no writes any more.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  });
  return client as unknown as RedisClient;
}

/**
 * Another client of the same server, to listen on. Whoever listens subscribes anew itself: what a client of ioredis does by
 * itself then, nobody hears of, and when it fails because the connection breaks once more, it ends the process.
 */
export function listeningClient(client: RedisClient): RedisClient {
  return client.nodes === undefined ? client.duplicate({ autoResubscribe: false }) : client.duplicate();
}

/** Where a URL leads, without who goes there: fit for messages. */
export function describeUrl(url: string, tlsIsGiven: boolean): string {
  const { host, protocol } = new URL(checkedUrl(url));
  const how = tlsIsGiven || protocol === "rediss:" ? " over TLS" : "";
  return `Redis at ${host || "127.0.0.1:6379"}${how}`;
}

function checkedUrl(url: string): string {
  // What the parser says would quote the URL, password included.
  if (/^(rediss?|valkeys?):\/\//i.test(url) && URL.canParse(url) && isDecodable(url)) {
    // In small letters: any other `rediss` is `redis` to ioredis, which would send everything in the clear.
    return url.replace(/^\w+/, (scheme) => scheme.toLowerCase().replace("valkey", "redis"));
  }
  throw new TaskError(
    "store_unusable",
    "The Redis URL cannot be read; it looks like redis://user:password@host:6379/0, with special characters of the password percent-encoded, and rediss:// for TLS.",
  );
}

function isDecodable(url: string): boolean {
  const { username, password } = new URL(url);
  try {
    return [username, password].every((part) => decodeURIComponent(part) !== undefined);
  } catch {
    return false;
  }
}
