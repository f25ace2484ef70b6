/** Says once that something went away, and once that it is back, however often it is noticed. */
import { describeError, type Logger } from "./logger.js";

export class Outage {
  readonly #logger: Logger;
  readonly #what: string;
  #since: number | undefined;

  /** @param what what may go away, as the log names it */
  constructor(logger: Logger, what: string) {
    this.#logger = logger;
    this.#what = what;
  }

  get isOngoing(): boolean {
    return this.#since !== undefined;
  }

  /** Logs a warning, unless the outage is known. */
  noticed(error: unknown): void {
    if (this.#since !== undefined) return;
    this.#since = Date.now();
    this.#logger.warn({ error: describeError(error) }, `${this.#what} cannot be reached; trying again`);
  }

  /** Logs that the outage is over, if there was one. */
  over(): void {
    if (this.#since === undefined) return;
    const lastedMs = Date.now() - this.#since;
    this.#since = undefined;
    this.#logger.info({ lastedMs }, `${this.#what} can be reached again`);
  }
}
