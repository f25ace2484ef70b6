/**
 * What a case is. A case states one promise of the `TaskStore` interface (its doc comments in `@claimcheck/core`),
 * word for word; several cases of one promise differ by their detail.
 */
import type { CaseContext } from "./case-context.js";

/** Members that a store or its harness may lack by nature. Whoever lacks one says so; see `without`. */
export type Capability = "sweep" | "signals" | "reopen" | "openAnother" | "outage";

export interface ContractCase {
  /** The promise as the interface states it, and the detail after a dash where the case is about one. */
  readonly title: string;
  /** The promise alone. */
  readonly promise: string;
  /** What the case can't do without. */
  readonly needs: readonly Capability[];
  /** Rejects when the store breaks the promise. */
  readonly run: (context: CaseContext) => Promise<void>;
}

export interface CaseGroup {
  readonly name: string;
  readonly cases: readonly ContractCase[];
}

interface CaseOptions {
  detail?: string;
  needs?: readonly Capability[];
}

/** A case of `promise`. */
export function promised(promise: string, run: ContractCase["run"], options: CaseOptions = {}): ContractCase {
  const title = options.detail === undefined ? promise : `${promise} — ${options.detail}`;
  return { title, promise, needs: options.needs ?? [], run };
}
