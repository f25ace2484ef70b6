/**
 * From notebook outputs to what a model reads: MCP content blocks within a budget, every cut counted exactly.
 *
 * The budget is about reading and nothing is lost by it: the notebook and the run keep what was left out here.
 */
import { type CellOutput, type ErrorOutput, joinLines, type StreamOutput } from "../notebook/nbformat.js";
import { stripEscapes } from "./escapes.js";
import { excerptOf, measure } from "./excerpt.js";
import type { OutputCut } from "./mime-bundle.js";
import { type Part, renderBundle } from "./render-bundle.js";
import { TerminalText } from "./terminal-text.js";

/** MCP's text and image content, as plain types. */
export type ContentBlock = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** How much of a result is shown. Sizes are bytes of UTF-8. */
export interface RenderLimits {
  /** One output. Default: 8 KiB. */
  maxOutputBytes: number;
  /** One output. Default: 200. */
  maxOutputLines: number;
  /** All text of the result; markers of what was cut come on top. Default: 24 KiB. */
  maxTextBytes: number;
  /** Images of the result: half of them from the beginning, half from the end. Default: 8. */
  maxImages: number;
  /** One image, decoded. Default: 3,750,000, which is 5 MB of base64, the most that large providers of models accept. */
  maxImageBytes: number;
}

export const defaultRenderLimits: RenderLimits = {
  maxOutputBytes: 8 * 2 ** 10,
  maxOutputLines: 200,
  maxTextBytes: 24 * 2 ** 10,
  maxImages: 8,
  maxImageBytes: 3_750_000,
};

/** What of the outputs is not shown. */
export interface Omitted {
  bytes: number;
  lines: number;
  images: number;
}

export interface Rendering {
  /** Never empty: a run without output says so. */
  content: ContentBlock[];
  /** Undefined when everything is shown. */
  omitted: Omitted | undefined;
}

/** A shorter excerpt tells too little: rather are whole outputs left out. */
const MIN_EXCERPT_BYTES = 1_024;

const nothing: Omitted = { bytes: 0, lines: 0, images: 0 };

/** @see the file comment */
export function renderOutputs(outputs: readonly CellOutput[], limits: Partial<RenderLimits> = {}): Rendering {
  const all = { ...defaultRenderLimits, ...limits };
  const pieces = fitPieces(limitImages(outputs.flatMap(partsOf), all), all);
  if (pieces.length === 0) return { content: [{ type: "text", text: "[no output]" }], omitted: undefined };
  const omitted = pieces.map((piece) => piece.omitted).reduce(add, nothing);
  const complete = omitted.bytes === 0 && omitted.images === 0;
  return { content: pieces.map((piece) => piece.block), omitted: complete ? undefined : omitted };
}

function partsOf(output: CellOutput): Part[] {
  switch (output.output_type) {
    case "stream":
      return streamParts(output);
    case "error":
      return [{ kind: "text", text: errorText(output) }];
    default:
      return renderBundle(output.data);
  }
}

function streamParts({ name, text }: StreamOutput): Part[] {
  const shown = asTerminalText(joinLines(text)).replace(/\n$/, "");
  // What everything is but marked would be noise: stdout is bare.
  return shown === "" ? [] : [{ kind: "text", text: name === "stdout" ? shown : `[${name}]\n${shown}` }];
}

/** Other programs save streams raw, so what a terminal would show is worked out again. */
function asTerminalText(text: string): string {
  const terminal = new TerminalText(Number.POSITIVE_INFINITY);
  terminal.write(text);
  return stripEscapes(terminal.excerpt().head);
}

function errorText({ ename, evalue, traceback }: ErrorOutput): string {
  return stripEscapes(traceback.length > 0 ? traceback.join("\n") : `${ename}: ${evalue}`);
}

/** A part that is within the limits on images. */
type LimitedPart = Part & { omitted?: Omitted };

function limitImages(parts: readonly Part[], { maxImages, maxImageBytes }: RenderLimits): LimitedPart[] {
  const fitting = parts.filter((part) => part.kind === "image" && part.bytes <= maxImageBytes);
  const first = fitting.slice(0, Math.ceil(maxImages / 2));
  const last = fitting.slice(Math.max(first.length, fitting.length - Math.floor(maxImages / 2)));
  const shown = new Set([...first, ...last]);
  return parts.map((part) => {
    if (part.kind !== "image" || shown.has(part)) return part;
    const reason = part.bytes > maxImageBytes ? `larger than ${maxImageBytes} bytes` : `more than ${maxImages} images`;
    const text = `[${part.mimeType}, ${part.bytes} bytes, not shown: ${reason}]`;
    return { kind: "text", text, omitted: { ...nothing, images: 1 } };
  });
}

/** One content block, with what it takes of the budget and what it leaves out. */
interface Piece {
  block: ContentBlock;
  bytes: number;
  omitted: Omitted;
  /** All that would be left out if the whole piece were. */
  size: Omitted;
}

function fitPieces(parts: readonly LimitedPart[], limits: RenderLimits): Piece[] {
  const { maxOutputBytes, maxOutputLines, maxTextBytes } = limits;
  const piecesWithin = (maxBytes: number) => parts.map((part) => toPiece(part, { maxBytes, maxLines: maxOutputLines }));
  const pieces = piecesWithin(maxOutputBytes);
  const share = fairShare(
    pieces.map((piece) => piece.bytes),
    maxTextBytes,
  );
  if (share === undefined) return pieces;
  return withoutMiddle(piecesWithin(Math.min(maxOutputBytes, Math.max(share, MIN_EXCERPT_BYTES))), maxTextBytes);
}

function toPiece(part: LimitedPart, limits: { maxBytes: number; maxLines: number }): Piece {
  if (part.kind === "image") {
    const block = { type: "image", data: part.data, mimeType: part.mimeType } as const;
    return { block, bytes: 0, omitted: nothing, size: { ...nothing, images: 1 } };
  }
  if (part.kind === "gap") return gapPiece(part.cut);
  const { head, tail, cut } = excerptOf(part.text, limits);
  const omitted = { ...nothing, ...cut, images: part.omitted?.images ?? 0 };
  const text = cut ? `${endedLine(head)}${marker(cut)}\n${tail}` : head;
  const bytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
  return { block: { type: "text", text }, bytes, omitted, size: { ...measure(part.text), images: omitted.images } };
}

/** Output that was not even kept. */
function gapPiece(cut: OutputCut): Piece {
  const omitted = { ...nothing, bytes: cut.bytes, lines: cut.lines };
  return { block: { type: "text", text: marker(cut, "kept") }, bytes: 0, omitted, size: omitted };
}

/** What each may have at most so that all fit together; undefined if they do as they are. */
function fairShare(sizes: readonly number[], total: number): number | undefined {
  let rest = total;
  let count = sizes.length;
  for (const size of [...sizes].sort((a, b) => a - b)) {
    if (size > rest / count) return Math.floor(rest / count);
    rest -= size;
    count--;
  }
  return undefined;
}

/** Leaves out whole pieces, so that what is shown is the beginning and the end. */
function withoutMiddle(pieces: Piece[], maxBytes: number): Piece[] {
  if (countFitting(pieces, maxBytes) === pieces.length) return pieces;
  const head = countFitting(pieces, maxBytes / 2);
  const tail = countFitting(pieces.slice(head).reverse(), maxBytes / 2);
  const middle = pieces.slice(head, pieces.length - tail);
  const omitted = middle.map((piece) => piece.size).reduce(add, nothing);
  const text = marker({ ...omitted, outputs: middle.length });
  const gap: Piece = { block: { type: "text", text }, bytes: 0, omitted, size: omitted };
  return [...pieces.slice(0, head), gap, ...pieces.slice(pieces.length - tail)];
}

function countFitting(pieces: readonly Piece[], maxBytes: number): number {
  let bytes = 0;
  const tooMany = pieces.findIndex((piece) => {
    bytes += piece.bytes;
    return bytes > maxBytes;
  });
  return tooMany === -1 ? pieces.length : tooMany;
}

/** Says what is left out, in exact numbers. */
function marker(cut: OutputCut & { images?: number }, verb = "shown"): string {
  const counts = [
    count(cut.outputs, "output"),
    count(cut.images, "image"),
    count(cut.lines, "line"),
    count(cut.bytes, "byte"),
  ];
  const types = cut.mimeTypes ? ` of ${cut.mimeTypes.join(", ")}` : "";
  return `[… ${counts.filter((each) => each !== "").join(", ")}${types} not ${verb} …]`;
}

function count(number: number | undefined, noun: string): string {
  return number ? `${number} ${noun}${number === 1 ? "" : "s"}` : "";
}

function endedLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function add(a: Omitted, b: Omitted): Omitted {
  return { bytes: a.bytes + b.bytes, lines: a.lines + b.lines, images: a.images + b.images };
}
