/** Removes what has expired, in the background: bounded batches, one timer for all tasks, and the loop gets its turn between batches. */
import type { Clock } from "./clock.js";
import { describeError, type Logger } from "./logger.js";
import { Repeater } from "./repeater.js";
import type { TaskStore } from "./store.js";

/** How many tasks one batch removes at the most: large enough to keep up, small enough not to hold up the event loop. */
const BATCH = 500;

export interface SweeperOptions {
  store: TaskStore;
  clock: Clock;
  logger: Logger;
  /** How long between sweeps. Reads filter what has expired, so this only bounds what lies around. */
  intervalMs: number;
}

export class Sweeper {
  readonly #store: TaskStore;
  readonly #rounds: Repeater;
  #stopped = false;

  constructor({ store, clock, logger, intervalMs }: SweeperOptions) {
    this.#store = store;
    const onError = (error: unknown): void =>
      logger.warn({ error: describeError(error) }, "expired tasks could not be swept; trying again later");
    this.#rounds = new Repeater({ clock, intervalMs, onError, work: () => this.#sweep() });
  }

  start(): void {
    if (this.#store.sweep === undefined) return;
    this.#stopped = false;
    this.#rounds.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#rounds.stop();
  }

  async #sweep(): Promise<void> {
    while (!this.#stopped && (await this.#store.sweep?.(BATCH)) === BATCH)
      await new Promise((resolve) => setImmediate(resolve));
  }
}
