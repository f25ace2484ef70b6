/** Whether there may be one more: a task, a request that waits, a question. One answer for all that one process serves. */
import type { TaskError } from "./errors.js";
import { KeysInFlight } from "./keys-in-flight.js";
import { type Limits, limitReached } from "./limits.js";
import { PollLimiter } from "./poll-limiter.js";
import type { Runner } from "./runner.js";
import { SubscriptionLimiter } from "./subscription-limiter.js";
import type { TaskRecord } from "./task.js";
import { TaskLedger } from "./task-ledger.js";

export interface AdmissionOptions {
  limits: Limits;
  runner: Runner;
  now: () => number;
}

/** Says that a creation is over, and whether there is a task now. */
export type EndCreation = (created: boolean) => void;

export class Admission {
  readonly ledger: TaskLedger;
  readonly polls: PollLimiter;
  readonly subscriptions: SubscriptionLimiter;
  readonly keysInFlight: KeysInFlight = new KeysInFlight();
  readonly #limits: Limits;
  readonly #runner: Runner;
  /** How many requests of each owner wait; owners of none are not in it. */
  readonly #waiters = new Map<string, number>();
  /** Creations that will be queued, and are not yet. */
  #queueing = 0;

  constructor({ limits, runner, now }: AdmissionOptions) {
    this.#limits = limits;
    this.#runner = runner;
    this.ledger = new TaskLedger({ limits, runsTasks: runner.inProcess, now });
    this.polls = new PollLimiter({ perSecond: limits.pollsPerSecond, now });
    this.subscriptions = new SubscriptionLimiter(limits);
  }

  /**
   * Counts the task from before it is there; or why there may be none.
   *
   * @param reserved whether it starts at once
   */
  create({ taskId, owner, idempotencyKey }: TaskRecord, reserved: boolean): EndCreation | TaskError {
    const refusal = this.ledger.refusalOf(owner) ?? (reserved ? null : this.#queueRefusal());
    if (refusal !== null) return refusal;
    const arrived = idempotencyKey === undefined ? undefined : this.keysInFlight.enter(owner, idempotencyKey);
    this.ledger.enter(taskId, owner);
    if (!reserved) this.#queueing += 1;
    return (created) => {
      if (!created) this.ledger.leave(taskId);
      if (!reserved) this.#queueing -= 1;
      arrived?.();
    };
  }

  #queueRefusal(): TaskError | null {
    const { queuedTasks } = this.#limits;
    const { queued } = this.#runner;
    if (queued === undefined || queued + this.#queueing < queuedTasks) return null;
    return limitReached("queuedTasks", queuedTasks);
  }

  /** @throws TaskError `limit_reached` when too many of the owner's requests wait */
  enterWaiting(owner: string): void {
    const { waitersPerOwner } = this.#limits;
    const waiting = this.#waiters.get(owner) ?? 0;
    if (waiting >= waitersPerOwner) throw limitReached("waitersPerOwner", waitersPerOwner);
    this.#waiters.set(owner, waiting + 1);
  }

  leaveWaiting(owner: string): void {
    const waiting = (this.#waiters.get(owner) ?? 0) - 1;
    if (waiting > 0) this.#waiters.set(owner, waiting);
    else this.#waiters.delete(owner);
  }
}
