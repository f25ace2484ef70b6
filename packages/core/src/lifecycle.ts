/**
 * Opening and closing that know of each other: the one that was called for last counts, and waits for the other to be
 * done. Each may be called again, and gets the first call's promise then.
 */
export interface LifecycleSteps<Options> {
  /** @param isAbandoned whether a closing has given up waiting for this opening, which must then undo what it did */
  open(isAbandoned: () => boolean): Promise<void>;
  close(options: Options): Promise<void>;
  /** Whether `opening` is done in the time that a closing waits for it; it ends by itself otherwise. */
  isInTime(opening: Promise<unknown>): Promise<boolean>;
}

interface Opening {
  done: Promise<void>;
  isAbandoned: boolean;
}

export class Lifecycle<Options> {
  readonly #steps: LifecycleSteps<Options>;
  // Which way it is going: of the two, the one that was called for last is set.
  #opening: Opening | undefined;
  #closing: Promise<void> | undefined;

  constructor(steps: LifecycleSteps<Options>) {
    this.#steps = steps;
  }

  /** An opening that failed may be tried again. */
  open(): Promise<void> {
    if (this.#opening === undefined) {
      const opening: Opening = { done: Promise.resolve(), isAbandoned: false };
      opening.done = this.#open(opening, this.#closing);
      opening.done.catch(() => {
        if (this.#opening === opening) this.#opening = undefined;
      });
      this.#opening = opening;
      this.#closing = undefined;
    }
    return this.#opening.done;
  }

  async #open(opening: Opening, closing: Promise<void> | undefined): Promise<void> {
    await closing?.catch(() => {});
    await this.#steps.open(() => opening.isAbandoned);
  }

  close(options: Options): Promise<void> {
    if (this.#closing === undefined) {
      const opening = this.#opening;
      this.#closing = this.#close(opening, options);
      this.#opening = undefined;
    }
    return this.#closing;
  }

  async #close(opening: Opening | undefined, options: Options): Promise<void> {
    if (opening !== undefined) {
      const done = opening.done.catch(() => {});
      opening.isAbandoned = !(await this.#steps.isInTime(done));
    }
    await this.#steps.close(options);
  }
}
