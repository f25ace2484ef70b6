/** A log for what can be said of every task at once, and again and again, while a store is out. */
import type { Logger } from "./logger.js";

/** How long a sentence that was said is not said again. */
const QUIET_MS = 10_000;

/** Says each sentence once in ten seconds at the most, and with it in `leftOut` how often it was not said before. */
export class SparingLogger implements Logger {
  readonly #logger: Logger;
  readonly #elapsed: () => number;
  readonly #said = new Map<string, { at: number; leftOut: number }>();

  /** @param elapsed a clock that nobody sets, ms */
  constructor(logger: Logger, elapsed: () => number) {
    this.#logger = logger;
    this.#elapsed = elapsed;
  }

  debug(fields: object, message: string): void {
    this.#say("debug", fields, message);
  }

  info(fields: object, message: string): void {
    this.#say("info", fields, message);
  }

  warn(fields: object, message: string): void {
    this.#say("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#say("error", fields, message);
  }

  #say(level: keyof Logger, fields: object, message: string): void {
    const at = this.#elapsed();
    const last = this.#said.get(message);
    if (last !== undefined && at - last.at < QUIET_MS) {
      last.leftOut += 1;
      return;
    }
    this.#said.set(message, { at, leftOut: 0 });
    const leftOut = last?.leftOut ?? 0;
    this.#logger[level](leftOut === 0 ? fields : { ...fields, leftOut }, message);
  }
}
