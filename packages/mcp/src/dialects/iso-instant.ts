/** Instants as the wire writes them. */

let lastAt = Number.NaN;
let lastText = "";

/** ISO 8601 in UTC, milliseconds included. Writing one costs as much as the rest of a task's projection, and most are the one before. */
export function isoInstant(at: number): string {
  if (at !== lastAt) {
    lastText = new Date(at).toISOString();
    lastAt = at;
  }
  return lastText;
}
