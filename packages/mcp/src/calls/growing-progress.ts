/**
 * The number of each progress notification of one request. The protocol wants it to grow with each (spec: "Progress Flow"),
 * and a message is worth telling however far the work has come, such as what it waits for before it has begun.
 */
import type { Progress } from "@claimcheck/core";

/** A millionth: also a client that reads the number into 32 bits sees it grow, and no person does. */
const NUDGE = 1e-6;

export class GrowingProgress {
  #last = Number.NEGATIVE_INFINITY;
  #lastMessage: string | undefined;

  /**
   * What to send as `progress`: `current` where that grows, a little more than the last one where it does not and there is a new
   * message, else undefined: whoever repeats himself is heard once.
   */
  next({ current, message }: Pick<Progress, "current" | "message">): number | undefined {
    const next = this.#nextNumber(current, message !== undefined && message !== this.#lastMessage);
    if (next === undefined) return undefined;
    this.#last = next;
    if (message !== undefined) this.#lastMessage = message;
    return next;
  }

  #nextNumber(current: number, saysMore: boolean): number | undefined {
    if (!Number.isFinite(current)) return undefined;
    if (current > this.#last) return current;
    const nudged = this.#last + NUDGE * Math.max(1, Math.abs(this.#last));
    return saysMore && Number.isFinite(nudged) ? nudged : undefined;
  }
}
