/**
 * The one connection that listens, and that notifies: outside the pool, so waiting takes no place from those who
 * ask. A connection that dies is made anew with growing pauses, also one that dies without a sound.
 */
import { LATE, type Logger, Outage, systemClock, taskIdsOf, within } from "@claimcheck/core";
import { abandon, type PostgresClient } from "./driver.js";
import { withoutData } from "./failures.js";

/** The first pause is short, as most breaks are; the longest keeps a long outage from costing anything. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** A server that is there says good-bye at once; one that is not must not hold up the end of the process. */
const CLOSE_WITHIN_MS = 1000;

/** NOTIFY takes 8,000 bytes, the closing NUL included. */
const LONGEST_PAYLOAD_BYTES = 7999;

export interface ListenerOptions {
  createClient: () => PostgresClient;
  channel: string;
  logger: Logger;
  /** How often the connection is asked whether it is alive, and how long it may take to answer. */
  heartbeatMs: number;
  onConnected: () => void;
  onDisconnected: () => void;
  /** `null`: some tasks changed, and it can't be said which. */
  onTasks: (taskIds: string[] | null) => void;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #outage: Outage;
  #client: PostgresClient | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.logger, "PostgreSQL's notifications");
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Resolves after the first attempt to connect, whether or not it succeeded: signals are only hints. */
  async start(): Promise<void> {
    await this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    this.#options.onDisconnected();
    if (client !== undefined) await answered(client.end(), CLOSE_WITHIN_MS).catch(() => abandon(client));
  }

  /** Notifies every listener of the channel, this one included. Rejects when it can't. */
  async notify(taskIds: string[] | null): Promise<void> {
    const client = this.#client;
    if (client === undefined) throw new Error("There is no connection for notifications.");
    for (const payload of payloadsOf(taskIds)) {
      await client.query({ text: "SELECT pg_notify($1, $2)", values: [this.#options.channel, payload] });
    }
  }

  async #connect(): Promise<void> {
    let client: PostgresClient | undefined;
    try {
      // Throws when a certificate that the URL names cannot be read.
      client = this.#newClient();
      await client.connect();
      await client.query({ text: `LISTEN ${this.#options.channel}` });
      this.#found(client);
    } catch (error) {
      if (client !== undefined) abandon(client);
      this.#retryLater(error);
    }
  }

  #newClient(): PostgresClient {
    const client = this.#options.createClient();
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("The connection was closed.")));
    client.on("notification", (message) => this.#options.onTasks(taskIdsOf(message.payload ?? "null")));
    return client;
  }

  #found(client: PostgresClient): void {
    if (this.#closed) {
      abandon(client);
      return;
    }
    this.#client = client;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#outage.over();
    this.#options.onConnected();
    this.#beatLater(client);
  }

  #lost(client: PostgresClient, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    this.#options.onDisconnected();
    this.#retryLater(error);
  }

  #retryLater(error: unknown): void {
    if (this.#closed) return;
    this.#outage.noticed(withoutData(error, "LISTEN"));
    this.#timer = setTimeout(() => void this.#connect(), this.#pauseMs * (0.75 + Math.random() / 2));
    this.#timer.unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /** A connection whose packets vanish is silent for ever; only asking shows that nobody is there. */
  #beatLater(client: PostgresClient): void {
    this.#timer = setTimeout(() => void this.#beat(client), this.#options.heartbeatMs);
    this.#timer.unref();
  }

  async #beat(client: PostgresClient): Promise<void> {
    try {
      await answered(client.query({ text: "SELECT 1" }), this.#options.heartbeatMs);
      if (this.#client === client) this.#beatLater(client);
    } catch (error) {
      this.#lost(client, error);
      abandon(client);
    }
  }
}

/** As few messages as PostgreSQL takes; one that says "some tasks" when an id alone is too long for it. */
function payloadsOf(taskIds: string[] | null): string[] {
  if (taskIds === null) return ["null"];
  const payloads: string[][] = [[]];
  let room = LONGEST_PAYLOAD_BYTES - 2;
  for (const taskId of taskIds) {
    const bytes = Buffer.byteLength(JSON.stringify(taskId)) + 1;
    if (bytes > LONGEST_PAYLOAD_BYTES - 2) return ["null"];
    if (bytes > room) {
      payloads.push([]);
      room = LONGEST_PAYLOAD_BYTES - 2;
    }
    payloads.at(-1)?.push(taskId);
    room -= bytes;
  }
  return payloads.map((ids) => JSON.stringify(ids));
}

async function answered(work: Promise<unknown>, ms: number): Promise<void> {
  if ((await within(systemClock, ms, work)) === LATE) throw new Error(`No answer within ${ms} ms.`);
}
