/** Doing something for many events at once: soon after the first, and never for more than a small part of the time. */
import type { Clock, Timer } from "@claimcheck/core";

/** What a {@link Coalescer} does, and when. */
export interface CoalescerOptions {
  /** One run at a time; its rejection goes to `onError`, and the next mark tries again. */
  work(): void | Promise<void>;
  /** The least time between the end of a run and the start of the next. */
  intervalMs: number;
  clock: Clock;
  onError(error: unknown): void;
}

/** However long a run takes, it is followed by a rest so many times as long: work that grows must not take all the time. */
const REST = 9;

/** @see the file comment */
export class Coalescer {
  readonly #options: CoalescerOptions;
  #timer: Timer | undefined;
  #isMarked = false;
  #isBusy = false;
  #restUntil = Number.NEGATIVE_INFINITY;

  constructor(options: CoalescerOptions) {
    this.#options = options;
  }

  /** Something has happened: a run follows. */
  mark(): void {
    this.#isMarked = true;
    this.#arm();
  }

  /** Forgets the marks made so far: no run follows them. One under way ends. */
  reset(): void {
    this.#isMarked = false;
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#isBusy || this.#timer !== undefined || !this.#isMarked) return;
    const { clock } = this.#options;
    this.#timer = clock.setTimer(() => void this.#run(), Math.max(0, this.#restUntil - clock.now()));
  }

  async #run(): Promise<void> {
    const { work, intervalMs, clock, onError } = this.#options;
    this.#timer = undefined;
    this.#isMarked = false;
    this.#isBusy = true;
    const startedAt = clock.now();
    try {
      await work.call(this.#options);
    } catch (error) {
      onError.call(this.#options, error);
    }
    this.#isBusy = false;
    const endedAt = clock.now();
    this.#restUntil = endedAt + Math.max(intervalMs, REST * (endedAt - startedAt));
    this.#arm();
  }
}
