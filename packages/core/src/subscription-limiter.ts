/** How many subscriptions each owner has open, and how many tasks they name. Owners of none are not remembered. */
import { type Limits, limitReached } from "./limits.js";

export class SubscriptionLimiter {
  readonly #limits: Pick<Limits, "subscriptionsPerOwner" | "subscribedTasksPerOwner">;
  readonly #held = new Map<string, { subscriptions: number; tasks: number }>();

  constructor(limits: Pick<Limits, "subscriptionsPerOwner" | "subscribedTasksPerOwner">) {
    this.#limits = limits;
  }

  /** Owners that have a subscription. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Takes one more subscription, to `tasks` tasks.
   *
   * @returns what gives it back; calling it again changes nothing
   * @throws TaskError `limit_reached` when that is too many
   */
  open(owner: string, tasks: number): () => void {
    const { subscriptionsPerOwner, subscribedTasksPerOwner } = this.#limits;
    const held = this.#held.get(owner) ?? { subscriptions: 0, tasks: 0 };
    if (held.subscriptions >= subscriptionsPerOwner) throw limitReached("subscriptionsPerOwner", subscriptionsPerOwner);
    if (held.tasks + tasks > subscribedTasksPerOwner)
      throw limitReached("subscribedTasksPerOwner", subscribedTasksPerOwner);
    held.subscriptions += 1;
    held.tasks += tasks;
    this.#held.set(owner, held);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      held.subscriptions -= 1;
      held.tasks -= tasks;
      if (held.subscriptions === 0) this.#held.delete(owner);
    };
  }
}
