/**
 * How many of whose tasks go when. By the second, so that room is taken for each second in which tasks of somebody go, and
 * not for each task.
 */
import { PriorityQueue } from "./priority-queue.js";

interface Second<Whose> {
  at: number;
  gone: Map<Whose, number>;
}

export class Expiries<Whose> {
  readonly #onGone: (whose: Whose, many: number) => void;
  readonly #seconds = new Map<number, Second<Whose>>();
  readonly #queue: PriorityQueue<Second<Whose>> = new PriorityQueue((second) => second.at);

  constructor(onGone: (whose: Whose, many: number) => void) {
    this.#onGone = onGone;
  }

  /** Notes that one goes at `at`, epoch milliseconds. */
  add(whose: Whose, at: number): void {
    const { gone } = this.#secondOf(Math.ceil(at / 1000) * 1000);
    gone.set(whose, (gone.get(whose) ?? 0) + 1);
  }

  /** Tells of what has gone by `now`. */
  prune(now: number): void {
    for (let next = this.#queue.peek(); next !== undefined && next.at <= now; next = this.#queue.peek()) {
      this.#queue.pop();
      this.#seconds.delete(next.at);
      for (const [whose, many] of next.gone) this.#onGone(whose, many);
    }
  }

  #secondOf(at: number): Second<Whose> {
    let second = this.#seconds.get(at);
    if (second === undefined) {
      second = { at, gone: new Map() };
      this.#seconds.set(at, second);
      this.#queue.push(second);
    }
    return second;
  }
}
