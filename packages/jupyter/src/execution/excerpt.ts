/**
 * Keeping the head and the tail of a text that is too long, with an exact count of what lies between them.
 *
 * Sizes are bytes of UTF-8. A cut falls between lines where a line ends within the half of the excerpt next to the cut,
 * else between characters; never inside a character, and never inside a colour escape.
 */

/** What was left out. */
export interface Cut {
  bytes: number;
  /** Line ends among what was left out. */
  lines: number;
}

/** A text, whole in `head` when there is no `cut`. */
export interface Excerpt {
  head: string;
  tail: string;
  cut: Cut | undefined;
}

/** Limits of an excerpt; each half gets half of each. */
export interface ExcerptLimits {
  maxBytes: number;
  /** Default: no limit. */
  maxLines?: number;
}

/** No colour escape in a stream's text is longer: see `escapes.ts` for those that came, `pen.ts` for those we write. */
export const MAX_COLOUR_ESCAPE = 160;

const ESCAPE = "\u001b";

/** The whole text if it is within the limits, else its head and tail. */
export function excerptOf(text: string, { maxBytes, maxLines = Number.POSITIVE_INFINITY }: ExcerptLimits): Excerpt {
  if (Buffer.byteLength(text) <= maxBytes && (maxLines === Number.POSITIVE_INFINITY || countLines(text) <= maxLines)) {
    return { head: text, tail: "", cut: undefined };
  }
  const head = headLines(headOf(text, Math.floor(maxBytes / 2)), Math.floor(maxLines / 2));
  const tail = tailLines(tailOf(text.slice(head.length), Math.floor(maxBytes / 2)), Math.floor(maxLines / 2));
  return { head, tail, cut: measure(text.slice(head.length, text.length - tail.length)) };
}

/** The size of a part that is left out. */
export function measure(text: string): Cut {
  return { bytes: Buffer.byteLength(text), lines: countLineEnds(text) };
}

/** How many lines a reader sees: a last line without its line end counts. */
function countLines(text: string): number {
  return countLineEnds(text) + (text === "" || text.endsWith("\n") ? 0 : 1);
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) === 10) count++;
  return count;
}

/** The longest good beginning of at most `maxBytes`. */
export function headOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes && maxBytes >= text.length) return text;
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && isContinuation(bytes[end])) end--;
  const head = bytes.toString("utf8", 0, end);
  const lineEnd = head.lastIndexOf("\n") + 1;
  return lineEnd * 2 > head.length ? head.slice(0, lineEnd) : withoutOpenEscape(head);
}

/** The longest good ending of at most `maxBytes`. */
export function tailOf(text: string, maxBytes: number): string {
  if (maxBytes === 0) return "";
  const bytes = Buffer.from(text.slice(-maxBytes));
  if (bytes.length <= maxBytes && maxBytes >= text.length) return text;
  let start = Math.max(0, bytes.length - maxBytes);
  while (isContinuation(bytes[start])) start++;
  const tail = bytes.toString("utf8", start);
  const from = text.length - tail.length;
  if (text[from - 1] === "\n") return tail;
  const lineStart = tail.indexOf("\n") + 1;
  return lineStart > 0 && lineStart * 2 < tail.length ? tail.slice(lineStart) : text.slice(afterOpenEscape(text, from));
}

function headLines(text: string, maxLines: number): string {
  let end = 0;
  for (let lines = 0; lines < maxLines; lines++) {
    const next = text.indexOf("\n", end) + 1;
    if (next === 0) return text;
    end = next;
  }
  return text.slice(0, end);
}

function tailLines(text: string, maxLines: number): string {
  let start = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let lines = 0; lines < maxLines; lines++) {
    start = start === 0 ? -1 : text.lastIndexOf("\n", start - 1);
    if (start === -1) return text;
  }
  return text.slice(maxLines === 0 ? text.length : start + 1);
}

/** A byte that is not the first one of its character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function withoutOpenEscape(head: string): string {
  const begin = head.lastIndexOf(ESCAPE);
  return isOpenEscape(head, begin) ? head.slice(0, begin) : head;
}

/** Where to begin so as not to begin inside a colour escape. */
function afterOpenEscape(text: string, from: number): number {
  const begin = text.lastIndexOf(ESCAPE, from - 1);
  if (from === 0 || !isOpenEscape(text.slice(0, from), begin)) return from;
  const end = text.slice(from, from + MAX_COLOUR_ESCAPE).indexOf("m");
  return end === -1 ? from : from + end + 1;
}

function isOpenEscape(text: string, begin: number): boolean {
  return begin !== -1 && text.length - begin < MAX_COLOUR_ESCAPE && !text.includes("m", begin);
}
