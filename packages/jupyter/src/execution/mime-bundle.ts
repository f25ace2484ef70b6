/**
 * Turning what a kernel displays into what a notebook may hold: kernel-only fields gone, every value of a kind that the
 * format allows, sizes bounded.
 */
import { type DisplayDataOutput, isJsonMimeType, type MimeBundle } from "../notebook/nbformat.js";
import { type Cut, excerptOf } from "./excerpt.js";
import { wellFormed, wellFormedJson } from "./well-formed.js";

/**
 * Says, in a notebook's outputs and at the place of the gap, what was not kept. Structured and without words, so that
 * nothing that the program did not print can be taken for its output.
 */
export const CUT_MIME_TYPE = "application/vnd.claimcheck.cut+json";

/** What a gap in the outputs stands for. */
export interface OutputCut extends Cut {
  /** Whole outputs among it. */
  outputs?: number;
  /** Media types of the representations among it. */
  mimeTypes?: string[];
}

/** The output that marks a gap. */
export function cutOutput(cut: OutputCut): DisplayDataOutput {
  return { output_type: "display_data", data: { [CUT_MIME_TYPE]: cut }, metadata: {} };
}

/** A bundle that may be stored, its size, and what was too large for it. */
export interface StorableBundle {
  data: MimeBundle;
  bytes: number;
  cut: OutputCut | undefined;
}

/**
 * The storable form of a message's `data`. An entry over `maxEntryBytes` is left out and counted; `text/plain` keeps its
 * head and tail instead, since it is what remains when nothing else can be shown.
 */
export function storableBundle(data: unknown, maxEntryBytes: number): StorableBundle {
  const kept: [string, unknown][] = [];
  const cut = { bytes: 0, lines: 0, mimeTypes: [] as string[] };
  let bytes = 0;
  for (const [mimeType, value] of Object.entries(asRecord(data))) {
    const entry = storableEntry(mimeType, value, maxEntryBytes);
    if (entry.cut) addCut(cut, mimeType, entry.cut);
    if (entry.value === undefined) continue;
    kept.push([mimeType, entry.value]);
    bytes += entry.bytes;
  }
  // fromEntries defines members; assigning one that is named `__proto__` would not.
  return { data: Object.fromEntries(kept), bytes, cut: cut.mimeTypes.length > 0 ? cut : undefined };
}

/** The storable form of a message's `metadata`. */
export function storableMetadata(metadata: unknown): Record<string, unknown> {
  return wellFormedJson(asRecord(metadata)) as Record<string, unknown>;
}

/** `value` if it is a JSON object, else an empty one. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

interface StorableEntry {
  value: unknown;
  bytes: number;
  cut: Cut | undefined;
}

function storableEntry(mimeType: string, value: unknown, maxBytes: number): StorableEntry {
  if (value === null || value === undefined) return { value: undefined, bytes: 0, cut: undefined };
  if (isJsonMimeType(mimeType)) return bounded(wellFormedJson(value), JSON.stringify(value), maxBytes);
  const text = wellFormed(textOf(value));
  if (mimeType !== "text/plain") return bounded(text, text, maxBytes);
  const { head, tail, cut } = excerptOf(text, { maxBytes });
  return { value: head + tail, bytes: Buffer.byteLength(head) + Buffer.byteLength(tail), cut };
}

function bounded(value: unknown, serialised: string, maxBytes: number): StorableEntry {
  const bytes = Buffer.byteLength(serialised);
  if (bytes <= maxBytes) return { value, bytes, cut: undefined };
  return { value: undefined, bytes: 0, cut: { bytes, lines: 0 } };
}

/** Kernels send text as a string or as a list of lines; an object under a type that is not JSON is shown as JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((line) => typeof line === "string")) return value.join("");
  return JSON.stringify(value);
}

function addCut(sum: Cut & { mimeTypes: string[] }, mimeType: string, cut: Cut): void {
  sum.bytes += cut.bytes;
  sum.lines += cut.lines;
  sum.mimeTypes.push(mimeType);
}
