/** One line that says what a run printed last, for progress and status messages. */
import type { ContentBlock } from "../execution/index.js";

/** Clients show it beside a progress bar. */
const MAX_CHARACTERS = 160;

/** The last line of the last output; an image by its type; empty when there is none. */
export function lastWords(content: readonly ContentBlock[]): string {
  const last = content.at(-1);
  if (last === undefined) return "";
  if (last.type === "image") return `[${last.mimeType}]`;
  const line = last.text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 1).toWellFormed()}…` : line;
}
