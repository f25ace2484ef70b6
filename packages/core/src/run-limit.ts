/** How long a tool has run, in all attempts, and how long it may; time spent waiting for a person not counted. */
import type { AttemptHost } from "./attempt-host.js";
import type { Deadline } from "./deadlines.js";

export class RunLimit {
  readonly #host: Pick<AttemptHost, "elapsed" | "runDeadlines">;
  readonly #limitMs: number | undefined;
  readonly #onExceeded: (limitMs: number) => void;
  #beforeMs: number;
  /** Set while it counts. */
  #sinceAt: number | undefined;
  #deadline: Deadline | undefined;

  /**
   * @param host whose time no setting of a clock moves, and stands still while the machine sleeps
   * @param limitMs absent: without limit
   * @param onExceeded called once, when the time is used up
   * @param ranMs how long earlier attempts ran
   */
  constructor(
    host: Pick<AttemptHost, "elapsed" | "runDeadlines">,
    limitMs: number | undefined,
    onExceeded: (limitMs: number) => void,
    ranMs: number,
  ) {
    this.#host = host;
    this.#limitMs = limitMs;
    this.#onExceeded = onExceeded;
    this.#beforeMs = ranMs;
  }

  get ranMs(): number {
    if (this.#sinceAt === undefined) return this.#beforeMs;
    return this.#beforeMs + Math.max(0, this.#host.elapsed() - this.#sinceAt);
  }

  /** Counts from now on; goes on where it was paused. */
  resume(): void {
    if (this.#sinceAt !== undefined) return;
    const { runDeadlines, elapsed } = this.#host;
    const limitMs = this.#limitMs;
    this.#sinceAt = elapsed();
    if (limitMs === undefined) return;
    const endsAt = this.#sinceAt + limitMs - this.#beforeMs;
    this.#deadline = runDeadlines.at(endsAt, () => this.#onExceeded(limitMs));
  }

  pause(): void {
    if (this.#sinceAt === undefined) return;
    this.#beforeMs = this.ranMs;
    this.#sinceAt = undefined;
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }
}
