/** What the caller brings: one fresh, opened store for each case, and a hand on its clock. */
import type { TaskStore } from "@claimcheck/core";

export interface StoreHarness {
  /** Open, and empty but for what other cases can't see. */
  readonly store: TaskStore;
  /** The store's clock, epoch milliseconds. */
  now(): number | Promise<number>;
  /** Moves the store's clock on. On a back end that owns its clock: waits that long (see `ttlMs`). */
  advance(ms: number): unknown;
  /** A second, opened store on the same back end, as another process would have it. Closed by `close`. */
  openAnother?(): Promise<TaskStore>;
  /** Gives `store` up and opens a new one on what it left behind, as a restart would. Closed by `close`. */
  reopen?(): Promise<TaskStore>;
  /** Cuts every store that this harness opened off from its back end, and lets them reach it again. */
  readonly outage?: { begin(): unknown; end(): unknown };
  /** Closes every store that this harness opened, and removes what they kept. */
  close(): unknown;
}
