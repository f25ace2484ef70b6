/**
 * Writes, in the order in which they were asked for. Those that are asked for in one turn of the event loop share
 * a transaction, and with it one wait for the disk; each is answered once it has been made durable.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isBusy } from "./driver.js";
import { retryWhileBusy } from "./retry.js";
import type { Statements } from "./statements.js";

/** Bounds how long one transaction keeps the event loop, and other processes, waiting. */
const MOST_PER_TRANSACTION = 64;

interface Write {
  /** Runs inside the transaction. What it throws undoes its statements. */
  run: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export class WriteQueue {
  readonly #statements: Statements;
  readonly #busyTimeoutMs: number;
  #waiting: Write[] = [];
  #draining: Promise<void> | undefined;

  constructor(statements: Statements, busyTimeoutMs: number) {
    this.#statements = statements;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** Answers what `run` answered, once it is durable. */
  add<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run, resolve: resolve as Write["resolve"], reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when everything that was asked for so far has been answered. */
  async settled(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      await this.#write(this.#waiting.splice(0, MOST_PER_TRANSACTION));
    }
    this.#draining = undefined;
  }

  async #write(batch: readonly Write[]): Promise<void> {
    try {
      const values = await retryWhileBusy(() => this.#transact(batch), this.#busyTimeoutMs);
      for (const [at, write] of batch.entries()) write.resolve(values[at]);
    } catch (error) {
      if (batch.length === 1 || isBusy(error)) for (const write of batch) write.reject(error);
      // One of them failed and took the others with it; each on its own, only that one does.
      else for (const write of batch) await this.#write([write]);
    }
  }

  #transact(batch: readonly Write[]): unknown[] {
    this.#statements.begin.run();
    try {
      const values = batch.map((write) => write.run());
      this.#statements.commit.run();
      return values;
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  /** A fault such as a full disk ends the transaction by itself; then there is nothing to roll back. */
  #undo(): void {
    try {
      this.#statements.rollback.run();
    } catch {
      // The fault that led here is the one to report.
    }
  }
}
