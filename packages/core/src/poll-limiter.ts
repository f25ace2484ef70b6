/**
 * How often each owner may ask in vain: a token bucket each. Owners that have not asked for as long as an empty bucket
 * takes to fill are forgotten, since theirs is full.
 */
import { limitReached } from "./limits.js";

export interface PollLimiterOptions {
  perSecond: number;
  /** Epoch milliseconds. */
  now: () => number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** How many seconds' worth may come at once. */
const BURST_S = 5;

export class PollLimiter {
  readonly #options: PollLimiterOptions;
  readonly #capacity: number;
  /** Those used since the last turn, and those used in the turn before: at every turn the latter are full and let go. */
  #recent = new Map<string, Bucket>();
  #older = new Map<string, Bucket>();
  #turnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PollLimiterOptions) {
    this.#options = options;
    this.#capacity = options.perSecond * BURST_S;
  }

  /** Owners that are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /**
   * Whether `owner` may ask now.
   *
   * @throws TaskError `limit_reached` with `retryAfterMs` in its data when not
   */
  check(owner: string): void {
    const bucket = this.#recent.get(owner) ?? this.#older.get(owner);
    if (bucket === undefined) return;
    this.#fill(bucket);
    if (bucket.tokens >= 1) return;
    const { perSecond } = this.#options;
    throw limitReached("pollsPerSecond", perSecond, Math.ceil(((1 - bucket.tokens) / perSecond) * 1000));
  }

  /** Notes that `owner` has asked in vain. Of those who ask at one moment some may be too many; they are waited for then. */
  spend(owner: string): void {
    if (this.#capacity === Number.POSITIVE_INFINITY) return;
    this.#turn();
    const bucket = this.#recent.get(owner) ?? this.#older.get(owner) ?? this.#full();
    this.#fill(bucket);
    bucket.tokens = Math.max(bucket.tokens - 1, -this.#capacity);
    this.#older.delete(owner);
    this.#recent.set(owner, bucket);
  }

  #full(): Bucket {
    return { tokens: this.#capacity, filledAt: this.#options.now() };
  }

  #fill(bucket: Bucket): void {
    const { now, perSecond } = this.#options;
    const at = now();
    // A clock that was set back takes nothing.
    const passedMs = Math.max(0, at - bucket.filledAt);
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + (passedMs / 1000) * perSecond);
    bucket.filledAt = at;
  }

  /** From the deepest debt to full takes twice the burst. */
  #turn(): void {
    const now = this.#options.now();
    const sinceMs = now - this.#turnedAt;
    if (sinceMs >= 0 && sinceMs < 2 * BURST_S * 1000) return;
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#turnedAt = now;
  }
}
