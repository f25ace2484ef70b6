/**
 * The connection that listens: one of its own, as a connection that listens takes no commands while its server or its
 * network hangs. A connection that dies is made anew, also one that dies without a sound.
 */
import { type Logger, Outage } from "@claimcheck/core";
import type { RedisClient } from "./client.js";
import { failureOf } from "./failures.js";

export interface SubscriberOptions {
  client: RedisClient;
  channel: string;
  logger: Logger;
  /** How often the connection is asked whether it is alive, and how long it may take to answer. */
  heartbeatMs: number;
  onConnected: () => void;
  onDisconnected: () => void;
  onMessage: (message: string) => void;
}

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly #outage: Outage;
  #timer: NodeJS.Timeout | undefined;
  #connected = false;
  #closed = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#outage = new Outage(options.logger, "Redis's notifications");
    const { client, channel } = options;
    client.on("error", (error) => this.#outage.noticed(failureOf(error, "SUBSCRIBE")));
    client.on("ready", () => void this.#subscribe());
    client.on("close", () => this.#lost());
    client.on("message", (from, message) => from === channel && options.onMessage(message));
  }

  get isConnected(): boolean {
    return this.#connected;
  }

  /** Resolves after the first attempt, whether or not it succeeded: signals are only hints. */
  async start(): Promise<void> {
    try {
      if (this.#options.client.status === "wait") await this.#options.client.connect();
      await this.#subscribe();
    } catch (error) {
      this.#outage.noticed(failureOf(error, "SUBSCRIBE"));
    }
  }

  close(): void {
    this.#closed = true;
    this.#lost();
    this.#options.client.disconnect();
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#options.client.subscribe(this.#options.channel);
      this.#found();
    } catch (error) {
      // The connection broke once more, and says "ready" once more when it is back.
      this.#outage.noticed(failureOf(error, "SUBSCRIBE"));
    }
  }

  #found(): void {
    if (this.#connected || this.#closed) return;
    this.#connected = true;
    this.#outage.over();
    this.#options.onConnected();
    this.#beatLater();
  }

  #lost(): void {
    clearTimeout(this.#timer);
    if (!this.#connected) return;
    this.#connected = false;
    this.#options.onDisconnected();
    if (!this.#closed) this.#outage.noticed(new Error("The connection was closed."));
  }

  /** A connection whose packets vanish is silent for ever; only asking shows that nobody is there. */
  #beatLater(): void {
    this.#timer = setTimeout(() => void this.#beat(), this.#options.heartbeatMs);
    this.#timer.unref();
  }

  async #beat(): Promise<void> {
    const { client, heartbeatMs } = this.#options;
    const late = setTimeout(() => client.disconnect(true), heartbeatMs);
    late.unref();
    try {
      await client.call("PING");
      if (this.#connected) this.#beatLater();
    } catch {
      // Nobody answered in time, or the connection broke and is being made anew already.
      if (this.#connected) client.disconnect(true);
    } finally {
      clearTimeout(late);
    }
  }
}
