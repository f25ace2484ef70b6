/** Which idempotency keys belong to calls whose task is just being created. */
export class KeysInFlight {
  readonly #arrivals = new Map<string, Promise<void>>();

  /** @returns a function that says that the call has its task, or has none */
  enter(owner: string, key: string): () => void {
    const id = idOf(owner, key);
    let arrive = (): void => {};
    const arrival = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    this.#arrivals.set(id, arrival);
    return () => {
      if (this.#arrivals.get(id) === arrival) this.#arrivals.delete(id);
      arrive();
    };
  }

  /** Resolves when no call of this key is on its way any more. */
  async arrived(owner: string, key: string): Promise<void> {
    await this.#arrivals.get(idOf(owner, key));
  }
}

function idOf(owner: string, key: string): string {
  return JSON.stringify([owner, key]);
}
