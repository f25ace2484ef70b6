/** Work that must not overlap with other work on the same thing. */
export class Turns {
  /** The end of the last work on each key; of the others nothing is kept. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does `work` once all earlier work on `key` has ended, well or badly. Settles as `work` does. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work, work);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }

  /** Resolves when all work begun or waiting so far has ended; never rejects. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
