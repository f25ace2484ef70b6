/** The lease by which an attempt holds its task, as this process counts its time: no setting of a clock makes it last. */
import type { AttemptHost } from "./attempt-host.js";
import type { Deadline } from "./deadlines.js";
import { describeError } from "./logger.js";

export interface LeaseActions {
  /** Puts the deadline in the record off; rejects when the store does not take it. */
  renew: () => Promise<void>;
  /** The lease has passed while a renewal was on its way; `why` says what kept it. */
  onPassed: (why: string) => void;
}

export class Lease {
  readonly #host: Pick<AttemptHost, "elapsed" | "runDeadlines" | "settings">;
  readonly #actions: LeaseActions;
  /** When the lease as it stands was taken. */
  #takenAt: number;
  /** Set while a renewal is on its way: when the lease passes, whatever becomes of that. */
  #passing: Deadline | undefined;

  constructor(host: Pick<AttemptHost, "elapsed" | "runDeadlines" | "settings">, actions: LeaseActions) {
    this.#host = host;
    this.#actions = actions;
    this.#takenAt = host.elapsed();
  }

  /** Never rejects: what could not be renewed is tried again, until the lease passes. */
  async renew(): Promise<void> {
    const { elapsed, runDeadlines, settings } = this.#host;
    const renewedAt = elapsed();
    let why = "the store has not answered";
    this.#passing ??= runDeadlines.at(this.#takenAt + settings.leaseMs, () => this.#actions.onPassed(why));
    try {
      await this.#actions.renew();
      this.#takenAt = renewedAt;
      this.end();
    } catch (error) {
      why = describeError(error);
    }
  }

  /** Nobody minds any more when it passes. */
  end(): void {
    this.#passing?.cancel();
    this.#passing = undefined;
  }
}
