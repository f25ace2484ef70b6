/** Cancellation of one call: what the tool sees of it, and the button that the engine presses. */

/** Thrown by `checkCancelled()`, and the reason of the abort signal. */
export class CancelledError extends Error {
  override readonly name = "CancelledError";

  constructor(message = "The call was cancelled.") {
    super(message);
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
  // One for all who wait: a tool may race it against every step of a long run.
  #end: Promise<boolean> | undefined;
  #resolveEnd: ((cancelled: boolean) => void) | undefined;
  // Made on first use: most tools never look at it, and an AbortController costs as much as creating a task.
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === "cancelled") this.#controller.abort(new CancelledError());
    return this.#controller.signal;
  }

  isCancelled(): boolean {
    return this.#state === "cancelled";
  }

  checkCancelled(): void {
    if (this.#state === "cancelled") throw new CancelledError();
  }

  wait(): Promise<boolean> {
    if (this.#state !== "open") return Promise.resolve(this.#state === "cancelled");
    this.#end ??= new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
    return this.#end;
  }

  /** Cancels the call; does nothing once it is cancelled or closed. */
  cancel(): void {
    if (!this.#leave("cancelled")) return;
    this.#controller?.abort(new CancelledError());
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
