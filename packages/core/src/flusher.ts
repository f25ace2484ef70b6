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
const MAX_INTERVAL_MS = 5000;

/** How long after a write that failed the next one is tried. */
const RETRY_MS = 1000;

/** Something that has reports to write. */
export interface Flushable {
  /** Writes what is pending; answers how many bytes were looked at for it. Rejects when it could not, which it has logged; it is then called again. */
  flush(): Promise<number>;
}

interface Pace {
  nextAt: number;
  writing: boolean;
}

export class Flusher {
  readonly #clock: Clock;
  #paces = new WeakMap<Flushable, Pace>();
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

  /** `item` has nothing more to say. */
  drop(item: Flushable): void {
    this.#dirty.delete(item);
    this.#paces.delete(item);
  }

  /** Stops the timer; nothing more is written of what was said so far. */
  close(): void {
    this.#dirty.clear();
    this.#paces = new WeakMap();
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
    // What is said in one go, such as an output and a message, is one write.
    await null;
    this.#dirty.delete(item);
    const waitMs = await this.#flush(item);
    pace.writing = false;
    pace.nextAt = this.#clock.now() + (waitMs ?? RETRY_MS);
    if (waitMs === undefined && this.#paces.get(item) === pace) this.#wait(item);
  }

  /** How long to wait before the next write; `undefined` when this one failed. */
  async #flush(item: Flushable): Promise<number | undefined> {
    try {
      const bytes = await item.flush();
      return Math.min(MAX_INTERVAL_MS, INTERVAL_MS * Math.max(1, bytes / BYTES_PER_INTERVAL));
    } catch {
      return undefined;
    }
  }
}
