/** How long a handler may run, time spent waiting for a person not counted. */
import type { Deadline, Deadlines } from "./deadlines.js";

export interface RunLimitOptions {
  deadlines: Deadlines;
  now: () => number;
  limitMs: number;
  /** Called once, when the time is used up. */
  onExceeded: () => void;
}

export class RunLimit {
  readonly #options: RunLimitOptions;
  #leftMs: number;
  #sinceAt = 0;
  #deadline: Deadline | undefined;

  constructor(options: RunLimitOptions) {
    this.#options = options;
    this.#leftMs = options.limitMs;
  }

  /** Counts from now on; goes on where it was paused. */
  resume(): void {
    if (this.#deadline !== undefined) return;
    const { deadlines, now, onExceeded } = this.#options;
    this.#sinceAt = now();
    this.#deadline = deadlines.at(this.#sinceAt + this.#leftMs, onExceeded);
  }

  pause(): void {
    if (this.#deadline === undefined) return;
    this.#deadline.cancel();
    this.#deadline = undefined;
    this.#leftMs = Math.max(0, this.#leftMs - (this.#options.now() - this.#sinceAt));
  }
}
