/** A record's texts as columns: which payloads stand in its row, and how its names are searched by. */
import {
  applyChanges,
  PAYLOADS,
  type PayloadTexts,
  type TaskChanges,
  type TaskRecord,
  type TaskSummary,
} from "@claimcheck/core";

/** The head that `changes` make of `head`; its version is one higher. */
export function changedHead(head: TaskSummary, changes: TaskChanges): TaskSummary {
  const { outcome, partialOutput: _partialOutput, checkpoint: _checkpoint, ...rest } = changes;
  const next = applyChanges(head as unknown as TaskRecord, rest) as unknown as TaskSummary;
  return outcome === undefined ? next : { ...next, outcomeKind: outcome.kind };
}

/** A longer payload, in UTF-16 units, is kept apart. A task's row with all four small ones fits a page. */
const LARGEST_IN_ROW = 800;

/** How the payloads of a record are kept. */
export interface Placement {
  /** What goes into the task's own row, in the order of {@link PAYLOADS}. */
  inRow: (string | null)[];
  /** Bit n: payload n has a row of its own. */
  apart: number;
}

export function placementOf(texts: PayloadTexts): Placement {
  const placement: Placement = { inRow: [], apart: 0 };
  for (const [n, payload] of PAYLOADS.entries()) {
    const text = texts[payload] ?? null;
    const isApart = text !== null && text.length > LARGEST_IN_ROW;
    placement.inRow.push(isApart ? null : text);
    if (isApart) placement.apart |= 1 << n;
  }
  return placement;
}

const NOT_EXACT_AS_TEXT = /^"|[\0\p{Surrogate}]/u;

/**
 * `name` as a column that is searched by. SQLite would take two names that differ in a lone surrogate for one;
 * such names are kept as JSON strings, and so is every name that looks like one.
 */
export function searchable(name: string): string {
  return NOT_EXACT_AS_TEXT.test(name) ? JSON.stringify(name) : name;
}
