/**
 * The half of a store's signals that is the same over every wire. What is published within a short time goes out as
 * one message, off the path of whoever publishes; the first goes at once. While the wire is down nothing queues up:
 * that something was missed is remembered, and said once it is back.
 */
import { describeError, type Logger } from "./logger.js";
import type { StoreSignals } from "./store.js";

/** From here on it is cheaper to ask after everything that somebody waits for than to name each task. */
const MOST_PENDING = 1000;

export interface SignalRelayOptions {
  /** Sends one message to every process, this one included; `null` when it can't be said which tasks changed. */
  send: (taskIds: string[] | null) => Promise<void>;
  /** How long after one message the next one goes at the earliest. */
  intervalMs: number;
  logger: Logger;
}

/** The task ids in a message that has them as JSON; `null` for whatever else somebody sent: no more than "look". */
export function taskIdsOf(message: string): string[] | null {
  try {
    const ids: unknown = JSON.parse(message);
    return Array.isArray(ids) && ids.every((id) => typeof id === "string") ? ids : null;
  } catch {
    return null;
  }
}

export class SignalRelay implements StoreSignals {
  readonly #options: SignalRelayOptions;
  readonly #listeners = new Set<{ call: (taskId: string | null) => void }>();
  readonly #pending = new Set<string>();
  #missed = false;
  #timer: NodeJS.Timeout | undefined;
  #sending = false;
  #connected = false;

  constructor(options: SignalRelayOptions) {
    this.#options = options;
  }

  publish(taskId: string): void {
    if (!this.#connected || this.#pending.size >= MOST_PENDING) this.#missed = true;
    else this.#pending.add(taskId);
    this.#schedule(0);
  }

  subscribe(listener: (taskId: string | null) => void): () => void {
    const entry = { call: listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Calls the listeners with what came over the wire. */
  deliver(taskIds: readonly string[] | null): void {
    for (const taskId of taskIds ?? [null]) this.#call(taskId);
  }

  /** The wire is there: whoever listens looks once, here and at the other end if anything was missed. */
  connected(): void {
    this.#connected = true;
    this.deliver(null);
    this.#schedule(0);
  }

  /** The wire is gone. */
  disconnected(): void {
    this.#connected = false;
    if (this.#pending.size > 0) this.#missed = true;
    this.#pending.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #call(taskId: string | null): void {
    for (const listener of [...this.#listeners]) {
      try {
        if (this.#listeners.has(listener)) listener.call(taskId);
      } catch (error) {
        this.#options.logger.error({ error: describeError(error) }, "a listener for changed tasks threw");
      }
    }
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#sending || !this.#connected || !this.#hasNews()) return;
    this.#timer = setTimeout(() => void this.#flush(), delayMs);
    this.#timer.unref();
  }

  #hasNews(): boolean {
    return this.#missed || this.#pending.size > 0;
  }

  async #flush(): Promise<void> {
    const taskIds = this.#missed ? null : [...this.#pending];
    this.#missed = false;
    this.#pending.clear();
    this.#sending = true;
    try {
      await this.#options.send(taskIds);
    } catch {
      // The wire says by itself that it is gone; what could not be sent is made good when it is back.
      this.#missed = true;
    }
    this.#sending = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#schedule(0);
    }, this.#options.intervalMs);
    this.#timer.unref();
  }
}
