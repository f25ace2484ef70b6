/** The time by the store's clock, so that all processes on one store mean the same instant. */
import type { Clock, Timer } from "./clock.js";
import type { TaskStore } from "./store.js";

export class StoreClock implements Clock {
  readonly #host: Clock;
  #offsetMs = 0;

  /** @param host this process's own clock, which a store without one goes by */
  constructor(host: Clock) {
    this.#host = host;
  }

  readonly now = (): number => this.#host.now() + this.#offsetMs;

  readonly elapsed = (): number => this.#host.elapsed?.() ?? this.#host.now();

  setTimer(callback: () => void, delayMs: number): Timer {
    return this.#host.setTimer(callback, delayMs);
  }

  clearTimer(timer: Timer): void {
    this.#host.clearTimer(timer);
  }

  /** A clock of the time that passes while this process can run, whatever the store's is set to. */
  get running(): Clock {
    return {
      now: this.elapsed,
      setTimer: (callback, delayMs) => this.setTimer(callback, delayMs),
      clearTimer: (timer) => this.clearTimer(timer),
    };
  }

  /**
   * The store read its clock at some instant between the question and the answer, which may be long apart: an answer that
   * was held up must not set the clock back, as leases would end too soon then. What it does not rule out stays.
   */
  async read(store: TaskStore): Promise<void> {
    if (store.now === undefined) return;
    const askedAt = this.#host.now();
    const storeAt = await store.now();
    const [least, most] = [storeAt - this.#host.now(), storeAt - askedAt];
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most);
  }
}
