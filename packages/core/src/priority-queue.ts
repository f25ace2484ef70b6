/** A binary min-heap: what comes next by a number, in O(log n) a step. */
export class PriorityQueue<T> {
  readonly #rankOf: (item: T) => number;
  readonly #heap: T[] = [];

  constructor(rankOf: (item: T) => number) {
    this.#rankOf = rankOf;
  }

  get size(): number {
    return this.#heap.length;
  }

  peek(): T | undefined {
    return this.#heap[0];
  }

  push(item: T): void {
    const heap = this.#heap;
    let at = heap.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#rank(parent) <= this.#rank(at)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    heap[0] = last;
    this.#sink(0);
    return first;
  }

  #sink(from: number): void {
    let at = from;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#rank(child) < this.#rank(least)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #rank(at: number): number {
    return this.#rankOf(this.#heap[at] as T);
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b] as T, heap[a] as T];
  }
}
