/** The waiting limit of one call: it counts from the call's beginning, whatever the call waits for until its answer. */
import { type Clock, type LATE, within } from "@claimcheck/core";

/** To be made when the call begins. */
export class WaitLimit {
  readonly ms: number;
  readonly #clock: Clock;
  readonly #untilAt: number;

  constructor(ms: number, clock: Clock) {
    this.ms = ms;
    this.#clock = clock;
    this.#untilAt = clock.now() + ms;
  }

  /** What `work` comes to, or `LATE` once the limit has passed; what it then comes to is nobody's. */
  async within<T>(work: Promise<T>): Promise<T | typeof LATE> {
    return await within(this.#clock, Math.max(0, this.#untilAt - this.#clock.now()), work);
  }
}
