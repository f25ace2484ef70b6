import type { Clock, Timer } from "../clock.js";

interface FakeTimer {
  at: number;
  callback: () => void;
}

/** A clock that only moves when told to. */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  readonly #timers = new Set<FakeTimer>();

  /** Starts at `now`, epoch milliseconds. Default: 2026-01-01. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer: FakeTimer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(timer: Timer): void {
    this.#timers.delete(timer as FakeTimer);
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on by `ms`, firing timers in their order and letting what they start run before the next. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#pass(next.at);
      next.callback();
      await settle();
    }
    this.#pass(until);
    await settle();
  }

  #pass(until: number): void {
    this.#elapsed += Math.max(0, until - this.#now);
    this.#now = Math.max(this.#now, until);
  }

  /** Lets `ms` pass at once, as on a machine that sleeps: what was due meanwhile comes late, with the next {@link advance}. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  /** Sets the time forward by `ms`, or back, as an administrator does: what is due comes no sooner and no later for it. */
  jump(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  #next(until: number): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.#timers)
      if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  }
}

/** Lets everything that is ready run: promise reactions and the callbacks that they schedule. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
