/** Cancellation of one call: what the tool sees of it, and the button that the engine presses. */

/** Thrown by `checkCancelled()`, and the reason of the abort signal. */
export class CancelledError extends Error {
  override readonly name = "CancelledError";

  constructor(message = "The call was cancelled.") {
    super(message);
  }
}

/**
 * The reason of the abort signal when this process lets a task go that is to be resumed elsewhere: its server shuts down, or
 * another process has taken it up. What works for the task outside this process is to be left alone; registered interrupts
 * are not called.
 */
export class HandedOverError extends CancelledError {
  constructor() {
    super("The task goes on in another process.");
  }
}

/** Lets a tool stop cooperatively. */
export interface CancelToken {
  isCancelled(): boolean;
  /** @throws CancelledError once the call is cancelled */
  checkCancelled(): void;
  /** Resolves `true` when the call is cancelled, `false` when it ended otherwise. */
  wait(): Promise<boolean>;
}

export class CancelSource implements CancelToken {
  #state: "open" | "cancelled" | "closed" = "open";
  #reason: CancelledError | undefined;
  // One for all who wait: a tool may race it against every step of a long run.
  #end: Promise<boolean> | undefined;
  #resolveEnd: ((cancelled: boolean) => void) | undefined;
  // Made on first use: most tools never look at it, and an AbortController costs as much as creating a task.
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === "cancelled") this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  isCancelled(): boolean {
    return this.#state === "cancelled";
  }

  checkCancelled(): void {
    if (this.#state === "cancelled") throw this.#reason;
  }

  wait(): Promise<boolean> {
    if (this.#state !== "open") return Promise.resolve(this.#state === "cancelled");
    this.#end ??= new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
    return this.#end;
  }

  /** Cancels the call; does nothing once it is cancelled or closed. */
  cancel(reason: CancelledError = new CancelledError()): void {
    if (this.#state === "open") this.#reason = reason;
    if (this.#leave("cancelled")) this.#controller?.abort(reason);
  }

  /** The call has ended: it can't be cancelled any more. */
  close(): void {
    this.#leave("closed");
  }

  #leave(state: "cancelled" | "closed"): boolean {
    if (this.#state !== "open") return false;
    this.#state = state;
    this.#resolveEnd?.(state === "cancelled");
    return true;
  }
}
