/** Sends statements through the pool: prepared, named after their text, sent again where that is safe. */
import { createHash } from "node:crypto";
import { type Logger, Outage } from "@claimcheck/core";
import type { PostgresPool } from "./driver.js";
import { isConnectionLost, isUndone, withoutData } from "./failures.js";
import type { Parameter, Row } from "./rows.js";
import type { Schema } from "./schema.js";

/** Two statements that undo each other again and again is bad luck once, twice; more often something is wrong. */
const MOST_TRIES = 5;

export interface DatabaseOptions {
  pool: PostgresPool;
  schema: Schema;
  /** The server as messages name it. */
  where: string;
  prepare: boolean;
  logger: Logger;
}

export class Database {
  readonly #options: DatabaseOptions;
  readonly #outage: Outage;
  readonly #prepared = new Map<string, { text: string; name?: string }>();
  readonly #noticed = (error: Error): void => this.#outage.noticed(withoutData(error, "an idle connection"));

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#outage = new Outage(options.logger, options.where);
    // A pool that nobody listens to ends the process when the server closes an idle connection.
    options.pool.on("error", this.#noticed);
  }

  /** Whether the last thing that was heard of the server was that it could not be reached. */
  get isOut(): boolean {
    return this.#outage.isOngoing;
  }

  release(): void {
    this.#options.pool.off("error", this.#noticed);
  }

  /** Sends a statement that may be carried out twice: once more if the connection broke. */
  async ask(statement: string, values: readonly Parameter[]): Promise<Row[]> {
    return this.#send(statement, values, true);
  }

  /** Sends a statement that must not be carried out twice; sent again only when it was undone for sure. */
  async tell(statement: string, values: readonly Parameter[]): Promise<Row[]> {
    return this.#send(statement, values, false);
  }

  async #send(statement: string, values: readonly Parameter[], repeatable: boolean): Promise<Row[]> {
    const query = { ...this.#prepare(statement), values };
    let again = repeatable;
    for (let tries = 1; ; tries += 1) {
      try {
        const { rows } = await this.#options.pool.query(query);
        this.#outage.over();
        return rows;
      } catch (error) {
        const lost = isConnectionLost(error);
        if (isUndone(error) && tries < MOST_TRIES) continue;
        if (lost && again) {
          again = false;
          continue;
        }
        if (lost) this.#outage.noticed(withoutData(error, "a statement"));
        throw withoutData(error, this.#options.where);
      }
    }
  }

  #prepare(statement: string): { text: string; name?: string } {
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      const text = this.#options.schema.fill(statement);
      // A name stands for one text on a connection, and stores of several schemas may share a pool.
      const name = `claimcheck_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
      prepared = this.#options.prepare ? { text, name } : { text };
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }
}
