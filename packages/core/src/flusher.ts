/**
 * Coalesces what tasks report. A task's first report is written at once, later ones at most ten times a second and
 * less often the larger they are, so that the bytes written stay a small multiple of the bytes produced. One timer
 * serves all tasks, and runs only while one of them has something to say.
 */
import type { Clock, Timer } from "./clock.js";

/** The shortest time between two writes of one task. */
const INTERVAL_MS = 100;

/** Outputs of up to this size are written every {@link INTERVAL_MS}; ten times the size, a tenth as often. */
const BYTES_PER_INTERVAL = 100_000;

/** The longest that a report waits, however large. */
const MAX_INTERVAL_MS = 2000;

/** Something that has reports to write. */
export interface Flushable {
  /** Writes what is pending; answers how many bytes that was. Never rejects. */
  flush(): Promise<number>;
}

interface Pace {
  nextAt: number;
  writing: boolean;
}

export class Flusher {
  readonly #clock: Clock;
  readonly #paces = new WeakMap<Flushable, Pace>();
  readonly #dirty = new Set<Flushable>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `item` has something to write. */
  mark(item: Flushable): void {
    const pace = this.#pace(item);
    if (!pace.writing && pace.nextAt <= this.#clock.now()) void this.#write(item, pace);
    else this.#wait(item);
  }

  /** `item` has written everything itself. */
  drop(item: Flushable): void {
    this.#dirty.delete(item);
  }

  /** Stops the timer; nothing more is written. */
  close(): void {
    this.#dirty.clear();
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #pace(item: Flushable): Pace {
    let pace = this.#paces.get(item);
    if (pace === undefined) {
      pace = { nextAt: 0, writing: false };
      this.#paces.set(item, pace);
    }
    return pace;
  }

  #wait(item: Flushable): void {
    this.#dirty.add(item);
    this.#timer ??= this.#clock.setTimer(() => this.#sweep(), INTERVAL_MS);
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const item of [...this.#dirty]) {
      const pace = this.#pace(item);
      if (pace.writing || pace.nextAt > now) continue;
      this.#dirty.delete(item);
      void this.#write(item, pace);
    }
    if (this.#dirty.size > 0) this.#timer ??= this.#clock.setTimer(() => this.#sweep(), INTERVAL_MS);
  }

  async #write(item: Flushable, pace: Pace): Promise<void> {
    pace.writing = true;
    const bytes = await item.flush();
    pace.writing = false;
    const interval = Math.min(MAX_INTERVAL_MS, INTERVAL_MS * Math.max(1, bytes / BYTES_PER_INTERVAL));
    pace.nextAt = this.#clock.now() + interval;
  }
}
