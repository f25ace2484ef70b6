/**
 * Keeps outputs within a number of bytes: the head and the tail are kept, since the start says what was done and
 * the end says why it failed; what is cut between them is counted and said.
 */
import type { JsonObject, JsonValue } from "./json.js";

/** Room for the marker that says what was cut. */
const MARKER_BYTES = 200;

export interface BoundedOutputs {
  outputs: JsonValue[];
  /** UTF-8 bytes of `outputs` as JSON. */
  bytes: number;
  /** How many bytes were cut; 0 when everything was kept. */
  dropped: number;
}

/**
 * A copy of `outputs` that nobody else holds, cut to at most `maxBytes` of JSON.
 *
 * Values that JSON cannot carry (`undefined`, functions, cycles, big integers) are replaced as `JSON.stringify` would, or by
 * a text that says so.
 */
export function boundOutputs(outputs: readonly JsonValue[], maxBytes: number): BoundedOutputs {
  const texts = outputs.map(toJson);
  const sizes = texts.map((text) => Buffer.byteLength(text) + 1);
  const bytes = sizes.reduce((sum, size) => sum + size, 1);
  if (bytes <= maxBytes) return { outputs: texts.map(fromJson), bytes, dropped: 0 };
  return cut(outputs, texts, sizes, maxBytes, bytes);
}

function toJson(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    return JSON.stringify(`[an output that JSON cannot carry: ${(error as Error).message}]`);
  }
}

const fromJson = (text: string): JsonValue => JSON.parse(text) as JsonValue;

function cut(
  outputs: readonly JsonValue[],
  texts: string[],
  sizes: number[],
  maxBytes: number,
  bytes: number,
): BoundedOutputs {
  const half = Math.max(0, Math.floor((maxBytes - MARKER_BYTES) / 2));
  const headCount = countThatFit(sizes, half);
  const tailCount = countThatFit(sizes.slice(headCount).reverse(), half);
  const tailStart = texts.length - tailCount;
  const head = texts.slice(0, headCount).map(fromJson);
  const tail = texts.slice(tailStart).map(fromJson);
  const headRoom = half - sum(sizes.slice(0, headCount));
  const tailRoom = half - sum(sizes.slice(tailStart));
  const middle = outputs.slice(headCount, tailStart);
  const first = middle.length > 0 ? textOf(middle[0] as JsonValue) : undefined;
  const last = middle.length > 0 ? textOf(middle[middle.length - 1] as JsonValue) : undefined;
  if (first !== undefined && headRoom > 0) head.push(withText(middle[0] as JsonValue, headOf(first, headRoom)));
  if (last !== undefined && tailRoom > 0)
    tail.unshift(withText(middle[middle.length - 1] as JsonValue, tailOf(last, tailRoom)));
  const kept = Buffer.byteLength(JSON.stringify([...head, ...tail]));
  const dropped = bytes - kept;
  const marked = [
    ...head,
    { type: "text", text: `[… ${dropped} bytes of output dropped here; the limit is ${maxBytes} bytes …]` },
    ...tail,
  ];
  return { outputs: marked, bytes: Buffer.byteLength(JSON.stringify(marked)), dropped };
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

function countThatFit(sizes: number[], room: number): number {
  let left = room;
  const misfit = sizes.findIndex((size) => {
    left -= size;
    return left < 0;
  });
  return misfit === -1 ? sizes.length : misfit;
}

/** The text of an output that can be cut: a string, or a block with a `text`. Anything else is kept or dropped whole. */
function textOf(output: JsonValue): string | undefined {
  if (typeof output === "string") return output;
  const text = typeof output === "object" && output !== null && !Array.isArray(output) ? output.text : undefined;
  return typeof text === "string" ? text : undefined;
}

function withText(output: JsonValue, text: string): JsonValue {
  return typeof output === "string" ? text : { ...(JSON.parse(JSON.stringify(output)) as JsonObject), text };
}

/** At most six bytes of JSON a UTF-16 unit (`\u0000`), so this many units always fit. */
function headOf(text: string, bytes: number): string {
  let end = Math.min(text.length, bytes);
  while (end > 0 && Buffer.byteLength(JSON.stringify(text.slice(0, end))) > bytes) end = Math.floor(end * 0.75);
  return isHighSurrogate(text.charCodeAt(end - 1)) ? text.slice(0, end - 1) : text.slice(0, end);
}

function tailOf(text: string, bytes: number): string {
  let length = Math.min(text.length, bytes);
  while (length > 0 && Buffer.byteLength(JSON.stringify(text.slice(text.length - length))) > bytes)
    length = Math.floor(length * 0.75);
  const start = text.length - length;
  return isLowSurrogate(text.charCodeAt(start)) ? text.slice(start + 1) : text.slice(start);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
