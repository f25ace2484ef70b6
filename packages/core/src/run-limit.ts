/** How long a tool has run, in all attempts, and how long it may; time spent waiting for a person not counted. */
import type { Deadline, Deadlines } from "./deadlines.js";

export interface RunLimitOptions {
  /** On a clock that no setting of the time moves, and that stands still while the machine sleeps. */
  deadlines: Deadlines;
  /** That clock. */
  elapsed: () => number;
  /** How long earlier attempts ran. */
  ranMs: number;
  /** Absent: without limit. */
  limitMs: number | undefined;
  /** Called once, when the time is used up. */
  onExceeded: () => void;
}

export class RunLimit {
  readonly #options: RunLimitOptions;
  #beforeMs: number;
  /** Set while it counts. */
  #sinceAt: number | undefined;
  #deadline: Deadline | undefined;

  constructor(options: RunLimitOptions) {
    this.#options = options;
    this.#beforeMs = options.ranMs;
  }

  get ranMs(): number {
    if (this.#sinceAt === undefined) return this.#beforeMs;
    return this.#beforeMs + Math.max(0, this.#options.elapsed() - this.#sinceAt);
  }

  /** Counts from now on; goes on where it was paused. */
  resume(): void {
    if (this.#sinceAt !== undefined) return;
    const { deadlines, elapsed, limitMs, onExceeded } = this.#options;
    this.#sinceAt = elapsed();
    if (limitMs !== undefined) this.#deadline = deadlines.at(this.#sinceAt + limitMs - this.#beforeMs, onExceeded);
  }

  pause(): void {
    if (this.#sinceAt === undefined) return;
    this.#beforeMs = this.ranMs;
    this.#sinceAt = undefined;
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }
}
