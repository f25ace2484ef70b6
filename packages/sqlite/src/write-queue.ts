/**
 * Writes. Those that are asked for in one turn of the event loop share a transaction, and with it one wait for the disk;
 * each is answered once it has been made durable. They go in the order in which they were asked for, but for large ones,
 * which small ones do not wait for: what renews a lease is small, and late when a few seconds of payloads go first.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isBusy } from "./driver.js";
import { retryWhileBusy } from "./retry.js";
import type { Statements } from "./statements.js";

/** Bounds how long one transaction keeps the event loop, and other processes, waiting. */
const MOST_PER_TRANSACTION = 64;

/** A write of more characters is a large one. */
const LARGE = 64 * 1024;

/** Of the large ones, as many go into one transaction as have no more characters in all, but one at least. */
const MOST_AT_ONCE = 4 * 1024 * 1024;

interface Write {
  /** Runs inside the transaction. What it throws undoes its statements. */
  run: () => unknown;
  length: number;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export interface WriteQueueOptions {
  busyTimeoutMs: number;
  /** Throws when what is written now would be lost. */
  checkFiles: () => void;
}

export class WriteQueue {
  readonly #statements: Statements;
  readonly #options: WriteQueueOptions;
  readonly #waiting: Write[] = [];
  readonly #waitingLarge: Write[] = [];
  #draining: Promise<void> | undefined;

  constructor(statements: Statements, options: WriteQueueOptions) {
    this.#statements = statements;
    this.#options = options;
  }

  /**
   * Answers what `run` answered, once it is durable.
   *
   * @param length of what it writes, characters
   */
  add<T>(run: () => T, length = 0): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = length > LARGE ? this.#waitingLarge : this.#waiting;
      waiting.push({ run, length, resolve: resolve as Write["resolve"], reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when everything that was asked for so far has been answered. */
  async settled(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length + this.#waitingLarge.length > 0) {
      await nextTurn();
      await this.#write(this.#next());
    }
    this.#draining = undefined;
  }

  /** Every small one goes ahead, and no large one waits for ever. */
  #next(): Write[] {
    const batch = this.#waiting.splice(0, MOST_PER_TRANSACTION);
    let length = 0;
    for (let next = this.#waitingLarge[0]; next !== undefined; next = this.#waitingLarge[0]) {
      if (length > 0 && length + next.length > MOST_AT_ONCE) break;
      length += next.length;
      batch.push(next);
      this.#waitingLarge.shift();
    }
    return batch;
  }

  async #write(batch: readonly Write[]): Promise<void> {
    try {
      const values = await retryWhileBusy(() => this.#transact(batch), this.#options.busyTimeoutMs);
      for (const [at, write] of batch.entries()) write.resolve(values[at]);
    } catch (error) {
      if (batch.length === 1 || isBusy(error)) for (const write of batch) write.reject(error);
      // One of them failed and took the others with it; each on its own, only that one does.
      else for (const write of batch) await this.#write([write]);
    }
  }

  #transact(batch: readonly Write[]): unknown[] {
    this.#options.checkFiles();
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
