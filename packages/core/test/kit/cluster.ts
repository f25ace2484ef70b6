/** Processes that share a store, on one clock. */
import type { ToolHandler } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { type Bench, type BenchOptions, openRuntime } from "./runtime.js";
import { SharedBackend, type SharedStore } from "./shared-store.js";

export interface Cluster {
  clock: FakeClock;
  backend: SharedBackend;
  /** Another process; `cut` takes its store off the net, which is how a process dies for the others. */
  node(handler: ToolHandler, options?: BenchOptions): Promise<Bench & { store: SharedStore }>;
}

/** `defaults`: what each process begins with. */
export function cluster(defaults: BenchOptions = {}): Cluster {
  const clock = new FakeClock();
  const backend = new SharedBackend(clock);
  return {
    clock,
    backend,
    node: async (handler, options) => {
      const store = backend.handle();
      return { ...(await openRuntime(handler, { ...defaults, ...options, clock, store })), store };
    },
  };
}
