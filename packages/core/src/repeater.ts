/** Work that is done again and again, on one timer, never twice at a time. */
import type { Clock, Timer } from "./clock.js";

export interface RepeaterOptions {
  clock: Clock;
  /** How long from the end of one round to the start of the next. */
  intervalMs: number;
  work: () => Promise<void>;
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
    else this.#schedule();
  }

  /** No round begins any more. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const { clock, intervalMs } = this.#options;
    this.#timer = clock.setTimer(() => void this.#once(), intervalMs);
  }

  async #once(): Promise<void> {
    this.#isWorking = true;
    try {
      await this.#options.work();
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#isWorking = false;
      if (!this.#stopped) this.#schedule();
    }
  }
}
