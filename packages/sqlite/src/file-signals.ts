/**
 * Wake-up hints between the processes that share a file. SQLite has no notifications, but counts the writes of
 * others (`PRAGMA data_version`, a read of shared memory): the count is looked at on an interval, and only while
 * somebody listens. A change by another process is heard within that interval, as `null`; one of this process at once.
 */
import type { Clock, StoreSignals, Timer } from "@claimcheck/core";

type Listener = (taskId: string | null) => void;

export class FileSignals implements StoreSignals {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #readVersion: () => number | undefined;
  readonly #listeners = new Map<symbol, Listener>();
  #version: number | undefined;
  #timer: Timer | undefined;

  /** @param readVersion the file's data version; `undefined` while it is not open */
  constructor(clock: Clock, intervalMs: number, readVersion: () => number | undefined) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#readVersion = readVersion;
  }

  publish(taskId: string): void {
    this.#call(taskId);
  }

  subscribe(listener: Listener): () => void {
    const key = Symbol();
    this.#listeners.set(key, listener);
    if (this.#timer === undefined) this.#watch();
    return () => {
      this.#listeners.delete(key);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  /** Ends every subscription. */
  stop(): void {
    this.#listeners.clear();
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #watch(): void {
    this.#version = this.#readVersion();
    this.#timer = this.#clock.setTimer(() => this.#look(), this.#intervalMs);
  }

  #look(): void {
    const before = this.#version;
    this.#watch();
    if (this.#version !== before) this.#call(null);
  }

  /** Apart from the caller: a listener that throws is its own fault and nobody else's. */
  #call(taskId: string | null): void {
    for (const key of this.#listeners.keys()) queueMicrotask(() => this.#listeners.get(key)?.(taskId));
  }
}
