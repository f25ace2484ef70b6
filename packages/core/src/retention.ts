/** Removes what has expired, in the background: bounded batches, one timer for all tasks, and the loop gets its turn between batches. */
import type { Clock, Timer } from "./clock.js";
import { describeError, type Logger } from "./logger.js";
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
  readonly #options: SweeperOptions;
  #timer: Timer | undefined;
  #stopped = true;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.store.sweep === undefined || !this.#stopped) return;
    this.#stopped = false;
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimer(() => void this.#sweep(), this.#options.intervalMs);
  }

  async #sweep(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      while (!this.#stopped && (await store.sweep?.(BATCH)) === BATCH)
        await new Promise((resolve) => setImmediate(resolve));
    } catch (error) {
      logger.warn({ error: describeError(error) }, "expired tasks could not be swept; trying again later");
    }
    this.#schedule();
  }
}
