/** A record's texts as columns: which payloads stand in its row, and how its names are searched by. */
import { PAYLOADS, type PayloadTexts } from "@claimcheck/core";

/** A longer payload, in UTF-16 units, is kept apart. A task's row with all four small ones fits a page. */
const LARGEST_IN_ROW = 800;

/** Where payloads go. */
export interface Placement {
  /** What goes into the task's own row, in the order of {@link PAYLOADS}. */
  inRow: (string | null)[];
  /** Bit n: payload n has a row of its own. */
  apart: number;
  /** Bit n: payload n is written; another stays as it is, where it is. */
  written: number;
}

export function placementOf(texts: PayloadTexts): Placement {
  const placement: Placement = { inRow: [null, null, null, null], apart: 0, written: 0 };
  for (const [n, payload] of PAYLOADS.entries()) {
    const text = texts[payload];
    if (text === undefined) continue;
    placement.written |= 1 << n;
    if (text !== null && text.length > LARGEST_IN_ROW) placement.apart |= 1 << n;
    else placement.inRow[n] = text;
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
