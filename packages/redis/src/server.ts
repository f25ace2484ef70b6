/** Sends commands and scripts, and says once when the server goes away. */
import { type Logger, Outage } from "@claimcheck/core";
import type { RedisClient } from "./client.js";
import { failureOf, isConnectionLost, isScriptUnknown, type RedisFailure } from "./failures.js";
import type { Script } from "./scripts/script.js";

export interface ServerOptions {
  client: RedisClient;
  /** The server as messages name it. */
  where: string;
  logger: Logger;
}

export class Server {
  readonly #options: ServerOptions;
  readonly #outage: Outage;
  #lastError: Error | undefined;
  #isOpen = false;
  readonly #noticed = (error: Error): void => {
    this.#lastError = error;
    if (this.#isOpen && this.#options.client.status !== "ready")
      this.#outage.noticed(failureOf(error, this.#options.where));
  };

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.logger, options.where);
    options.client.on("error", this.#noticed);
  }

  /** Whether the last thing that was heard of the server was that it could not be reached. */
  get isOut(): boolean {
    return this.#outage.isOngoing;
  }

  /** From now on an outage is logged; before, whoever opens the store is told. */
  opened(): void {
    this.#isOpen = true;
  }

  /** Takes the hands off a client that goes on without the store. */
  release(): void {
    this.#options.client.off("error", this.#noticed);
  }

  /** Makes the first connection. */
  async connect(): Promise<void> {
    try {
      await this.#options.client.connect();
    } catch (error) {
      // That the connection closed says less than why.
      throw failureOf(this.#lastError ?? error, this.#options.where);
    }
  }

  /** Sends something that may be carried out twice: once more if the connection broke. */
  async ask(send: () => Promise<unknown>): Promise<unknown> {
    try {
      return await send();
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      return await send();
    }
  }

  /** @throws RedisFailure */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    try {
      const answer = await this.#options.client.call(name, ...args);
      this.#answered();
      return answer;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** @throws RedisFailure */
  async run(script: Script, keys: readonly string[], args: readonly (string | number)[] = []): Promise<unknown> {
    try {
      return await this.command("EVALSHA", script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isScriptUnknown(error)) throw error;
      return await this.command("EVAL", script.lua, keys.length, ...keys, ...args);
    }
  }

  #answered(): void {
    this.#lastError = undefined;
    this.#outage.over();
  }

  #failure(error: unknown): RedisFailure {
    const failure = failureOf(error, this.#options.where, this.#lastError);
    if (this.#isOpen && isConnectionLost(failure)) this.#outage.noticed(failure);
    return failure;
  }
}
