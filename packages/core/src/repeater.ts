/** Work that is done again and again, on one timer, never twice at a time. */
import type { Clock, Timer } from "./clock.js";

export interface RepeaterOptions {
  clock: Clock;
  /** How long from the end of one round to the start of the next. */
  intervalMs: number;
  /** May answer in how many milliseconds it is to be done again, where that is sooner than the interval. */
  work: (() => Promise<void>) | (() => Promise<number | undefined>);
  /** Told when a round fails; the next one comes all the same. */
  onError: (error: unknown) => void;
}

export class Repeater {
  readonly #options: RepeaterOptions;
  #timer: Timer | undefined;
  #isWorking = false;
  #stopped = true;

  constructor(options: RepeaterOptions) {
    this.#options = options;
  }

  /** The first round comes one interval from now, or at once. */
  start({ atOnce = false }: { atOnce?: boolean } = {}): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    if (this.#isWorking) return;
    if (atOnce) void this.#once();
    else this.#schedule(this.#options.intervalMs);
  }

  /** No round begins any more. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #schedule(delayMs: number): void {
    this.#timer = this.#options.clock.setTimer(() => void this.#once(), delayMs);
  }

  async #once(): Promise<void> {
    const { intervalMs } = this.#options;
    this.#isWorking = true;
    let delayMs = intervalMs;
    try {
      const soonerMs = await this.#options.work();
      if (typeof soonerMs === "number") delayMs = Math.min(soonerMs, intervalMs);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#isWorking = false;
      if (!this.#stopped) this.#schedule(delayMs);
    }
  }
}
