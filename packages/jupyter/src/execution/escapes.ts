/**
 * Finding ANSI escape sequences in text that arrives in pieces.
 *
 * Whether something is a sequence depends on the text alone. An introducer without its end within a bounded length is no
 * sequence: otherwise one stray character would swallow all output after it.
 *
 * @see https://ecma-international.org/publications-and-standards/standards/ecma-48/
 */

/** What stands at a place where an ESC is. */
export type EscapeMatch =
  | { kind: "sgr"; length: number; parameters: string }
  | { kind: "eraseInLine"; length: number; mode: string }
  /** A sequence that draws nothing that we keep: cursor movement, titles, links, modes. */
  | { kind: "other"; length: number }
  /** More text is needed to tell. */
  | { kind: "incomplete" }
  /** An ESC that begins nothing. */
  | { kind: "stray" };

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CSI = /\x1b\[([\x30-\x3f]{0,60})([\x20-\x2f]{0,2}[\x40-\x7e])/y;
const STRING =
  /\x1b(?:\](?:[^\x07\x1b\n\x9c]{0,4096})(?:\x07|\x1b\\|\x9c)|[PX^_](?:[^\x1b\n\x9c]{0,4096})(?:\x1b\\|\x9c))/y;
const SHORT = /\x1b[\x20-\x2f]{0,2}[\x30-\x4f\x51-\x57\x59-\x5a\x5c\x60-\x7e]/y;
const UNFINISHED =
  /\x1b(?:\[[\x30-\x3f]{0,60}[\x20-\x2f]{0,2}|\][^\x07\x1b\n\x9c]{0,4096}\x1b?|[PX^_][^\x1b\n\x9c]{0,4096}\x1b?|[\x20-\x2f]{0,2})$/y;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: control characters are the subject

/** Reads the escape at `index`, where an ESC must be. */
export function escapeAt(text: string, index: number): EscapeMatch {
  const csi = matchAt(CSI, text, index);
  if (csi) return controlSequence(csi[0], csi[1] ?? "", csi[2] ?? "");
  const other = matchAt(STRING, text, index) ?? matchAt(SHORT, text, index);
  if (other) return { kind: "other", length: other[0].length };
  return matchAt(UNFINISHED, text, index) ? { kind: "incomplete" } : { kind: "stray" };
}

/** The text without any escape sequence, colours included. */
export function stripEscapes(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (let at = text.indexOf("\u001b"); at !== -1; at = text.indexOf("\u001b", from)) {
    kept.push(text.slice(from, at));
    const found = escapeAt(text, at);
    from = at + ("length" in found ? found.length : 1);
  }
  return kept.join("") + text.slice(from);
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function controlSequence(whole: string, parameters: string, final: string): EscapeMatch {
  const length = whole.length;
  if (final === "m" && /^[\d;:]*$/.test(parameters)) return { kind: "sgr", length, parameters };
  if (final === "K" && /^[012]?$/.test(parameters)) return { kind: "eraseInLine", length, mode: parameters || "0" };
  return { kind: "other", length };
}
