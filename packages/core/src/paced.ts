/** Work that is asked for more often than it needs to be done: at once, and then no oftener than every so often. */
import type { Clock, Timer } from "./clock.js";

export interface PacedOptions {
  clock: Clock;
  /** From one time to the next, at the least. */
  intervalMs: number;
  work: () => void;
}

export class Paced {
  readonly #options: PacedOptions;
  #timer: Timer | undefined;
  #again = false;

  constructor(options: PacedOptions) {
    this.#options = options;
  }

  /** Does it now, or as soon as the interval has passed. */
  ask(): void {
    this.#again = this.#timer !== undefined;
    if (this.#timer !== undefined) return;
    const { clock, intervalMs, work } = this.#options;
    this.#timer = clock.setTimer(() => this.#passed(), intervalMs);
    work();
  }

  /** Does nothing more of what was asked for. */
  stop(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#again = false;
  }

  #passed(): void {
    this.#timer = undefined;
    if (this.#again) this.ask();
  }
}
