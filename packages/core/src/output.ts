/**
 * Keeps outputs within a number of bytes: the head and the tail are kept, since the start says what was done and
 * the end says why it failed; what is cut between them is counted and said.
 */
import type { JsonObject, JsonValue } from "./json.js";
import { textOfThrown } from "./logger.js";

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
  const bytes = Math.max(2, sum(sizes) + 1);
  if (bytes <= maxBytes) return { outputs: texts.map(fromJson), bytes, dropped: 0 };
  const kept = headAndTail(outputs, texts, sizes, Math.max(0, Math.floor((maxBytes - MARKER_BYTES) / 2)));
  const dropped = bytes - byteLength([...kept.head, ...kept.tail]);
  const marker = `[… ${dropped} bytes of output dropped here; the limit is ${maxBytes} bytes …]`;
  const marked = [...kept.head, { type: "text", text: marker }, ...kept.tail];
  return { outputs: marked, bytes: byteLength(marked), dropped };
}

function toJson(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    return JSON.stringify(`[an output that JSON cannot carry: ${textOfThrown(error)}]`);
  }
}

const fromJson = (text: string): JsonValue => JSON.parse(text) as JsonValue;
const byteLength = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

/** What fits into `half` from the front, and into another `half` from the back; the outputs at the cut are cut themselves. */
function headAndTail(
  outputs: readonly JsonValue[],
  texts: string[],
  sizes: number[],
  half: number,
): { head: JsonValue[]; tail: JsonValue[] } {
  const headEnd = countThatFit(sizes, half);
  const tailStart = texts.length - countThatFit(sizes.slice(headEnd).reverse(), half);
  const head = texts.slice(0, headEnd).map(fromJson);
  const tail = texts.slice(tailStart).map(fromJson);
  if (headEnd < tailStart) {
    const first = piece(outputs[headEnd] as JsonValue, half - sum(sizes.slice(0, headEnd)), headOf);
    const last = piece(outputs[tailStart - 1] as JsonValue, half - sum(sizes.slice(tailStart)), tailOf);
    if (first !== undefined) head.push(first);
    if (last !== undefined) tail.unshift(last);
  }
  return { head, tail };
}

function countThatFit(sizes: number[], room: number): number {
  let left = room;
  const misfit = sizes.findIndex((size) => {
    left -= size;
    return left < 0;
  });
  return misfit === -1 ? sizes.length : misfit;
}

/** As much of one output as has room, if it has a text that can be cut and room for the rest of it. */
function piece(output: JsonValue, room: number, cut: (text: string, bytes: number) => string): JsonValue | undefined {
  const text = textOf(output);
  if (text === undefined) return undefined;
  const textRoom = room - Buffer.byteLength(toJson(withText(output, ""))) - 1;
  const kept = textRoom > 0 ? cut(text, textRoom) : "";
  return kept === "" ? undefined : fromJson(toJson(withText(output, kept)));
}

/** The text of an output that can be cut: a string, or a block with a `text`. Anything else is kept or dropped whole. */
function textOf(output: JsonValue): string | undefined {
  if (typeof output === "string") return output;
  const text = typeof output === "object" && output !== null && !Array.isArray(output) ? output.text : undefined;
  return typeof text === "string" ? text : undefined;
}

function withText(output: JsonValue, text: string): JsonValue {
  return typeof output === "string" ? text : { ...(output as JsonObject), text };
}

/** What `text` takes inside the quotes of a JSON string. */
const innerBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

function headOf(text: string, bytes: number): string {
  let end = Math.min(text.length, bytes);
  while (innerBytes(text.slice(0, end)) > bytes) end = Math.floor(end * 0.75);
  return isHighSurrogate(text.charCodeAt(end - 1)) ? text.slice(0, end - 1) : text.slice(0, end);
}

function tailOf(text: string, bytes: number): string {
  let length = Math.min(text.length, bytes);
  while (innerBytes(text.slice(text.length - length)) > bytes) length = Math.floor(length * 0.75);
  const start = text.length - length;
  return isLowSurrogate(text.charCodeAt(start)) ? text.slice(start + 1) : text.slice(start);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
