/** Any number of deadlines on one timer, so that a task costs none of its own. */
import type { Clock, Timer } from "./clock.js";
import { PriorityQueue } from "./priority-queue.js";

/** One deadline; `cancel` may be called at any time, any number of times. */
export interface Deadline {
  cancel(): void;
}

interface Entry {
  at: number;
  callback: (() => void) | undefined;
}

const byInstant = (): PriorityQueue<Entry> => new PriorityQueue((entry) => entry.at);

export class Deadlines {
  /** Whose `now()` the instants are meant by. */
  readonly #clock: Clock;
  #queue: PriorityQueue<Entry> = byInstant();
  #cancelled = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `callback` once, at the instant `at` or as soon after it as the process runs. */
  at(at: number, callback: () => void): Deadline {
    const entry: Entry = { at, callback };
    this.#queue.push(entry);
    this.#arm();
    return {
      cancel: () => {
        if (entry.callback === undefined) return;
        entry.callback = undefined;
        this.#cancelled += 1;
        this.#prune();
      },
    };
  }

  /** Calls `callback` once, `delayMs` from now. */
  after(delayMs: number, callback: () => void): Deadline {
    return this.at(this.#clock.now() + delayMs, callback);
  }

  /** Cancelled entries sit in the heap until they surface; when they are all, or the majority of many, it is built anew. */
  #prune(): void {
    const { size } = this.#queue;
    if (this.#cancelled < size && (this.#cancelled * 2 < size || size < 64)) return;
    const kept = byInstant();
    for (
      let entry = this.#queue.pop();
      entry !== undefined && kept.size < size - this.#cancelled;
      entry = this.#queue.pop()
    ) {
      if (entry.callback !== undefined) kept.push(entry);
    }
    this.#queue = kept;
    this.#cancelled = 0;
    this.#arm();
  }

  #arm(): void {
    const next = this.#queue.peek();
    if (next !== undefined && next.at >= this.#timerAt) return;
    this.#disarm();
    if (next === undefined) return;
    this.#timerAt = next.at;
    this.#timer = this.#clock.setTimer(() => this.#fire(), Math.max(0, next.at - this.#clock.now()));
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#disarm();
    try {
      for (let due = this.#nextDue(); due !== undefined; due = this.#nextDue()) due();
    } finally {
      this.#arm();
    }
  }

  /** Takes out the first deadline that has come and was not cancelled. */
  #nextDue(): (() => void) | undefined {
    for (let next = this.#queue.peek(); next !== undefined && next.at <= this.#clock.now(); next = this.#queue.peek()) {
      this.#queue.pop();
      const { callback } = next;
      next.callback = undefined;
      if (callback !== undefined) return callback;
      this.#cancelled -= 1;
    }
    return undefined;
  }
}
