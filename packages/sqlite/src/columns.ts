/** A record's texts as columns: which payloads stand in its row, and how its names are searched by. */
import { PAYLOADS, type PayloadTexts } from "@claimcheck/core";

/** A longer payload, in UTF-16 units, is kept apart. A task's row with all four small ones fits a page. */
const LARGEST_IN_ROW = 800;

/** How the payloads of a record are kept. */
export interface Placement {
  /** What goes into the task's own row, in the order of {@link PAYLOADS}. */
  inRow: (string | null)[];
  /** Bit n: payload n has a row of its own. */
  apart: number;
}

const NOWHERE: Placement = { inRow: [null, null, null, null], apart: 0 };

/** Where `texts` go; a payload that is not among them stays where it is `before`. */
export function placementOf(texts: PayloadTexts, before: Placement = NOWHERE): Placement {
  const placement: Placement = { inRow: [...before.inRow], apart: before.apart };
  for (const [n, payload] of PAYLOADS.entries()) {
    const text = texts[payload];
    if (text === undefined) continue;
    const isApart = text !== null && text.length > LARGEST_IN_ROW;
    placement.inRow[n] = isApart ? null : text;
    if (isApart) placement.apart |= 1 << n;
    else placement.apart &= ~(1 << n);
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
