/** Texts as a database can index them. */
import { createHash } from "node:crypto";

/** Well below what a B-tree page takes of two such columns (PostgreSQL: 2,704 bytes a row). */
const LONGEST_BYTES = 512;

/** As ids are. */
const PLAIN = /^[\w-]{1,512}$/;

/**
 * A short, valid stand-in for `text`: different texts have different stand-ins, whatever characters they are made
 * of. No NUL, no lone surrogate (neither survives every database), and at most 512 bytes of UTF-8. Ordinary short
 * texts are their own; the order of texts is kept for those.
 */
export function indexKey(text: string): string {
  if (PLAIN.test(text)) return text;
  const escaped = JSON.stringify(text).slice(1, -1);
  if (Buffer.byteLength(escaped) <= LONGEST_BYTES) return escaped;
  // A backslash is followed by a letter, a quote or a backslash in escaped text, so this meets none of them.
  return `\\#${createHash("sha256").update(escaped).digest("base64url")}`;
}
