/**
 * Half characters (surrogates without their partner) become U+FFFD: UTF-8 has no place for them, and a server cannot save
 * a notebook with one in it.
 */

/** @see the file comment */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** The same JSON value, its strings and member names well formed. */
export function wellFormedJson(value: unknown): unknown {
  const json = JSON.stringify(value);
  // JSON.stringify escapes half characters and no others as `\ud…`: look before copying, they are rare.
  return /\\ud[89a-f]/.test(json) ? JSON.parse(json.replace(ESCAPE, replaceHalf)) : value;
}

/** Any JSON escape, so that a backslash which is itself escaped is passed over. */
const ESCAPE = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

function replaceHalf(found: string): string {
  return found.startsWith("\\ud") ? "\\ufffd" : found;
}
