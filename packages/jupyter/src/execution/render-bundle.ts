/**
 * Choosing what of a media bundle a model is shown: an image as an image, else the most telling text, else a word on what
 * there is. Nothing is passed over in silence, and base64 never gets into a text.
 */
import { joinLines, type MimeBundle, type MultilineString } from "../notebook/nbformat.js";
import { stripEscapes } from "./escapes.js";
import { textOfHtml } from "./html-text.js";
import { CUT_MIME_TYPE, type OutputCut } from "./mime-bundle.js";

/** A part of a rendering, before any budget is applied to it. */
export type Part =
  | { kind: "text"; text: string }
  | { kind: "image"; data: string; mimeType: string; bytes: number }
  /** Something that was not kept when the output came. */
  | { kind: "gap"; cut: OutputCut };

/** In the order of preference: lossless first. */
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const WIDGET_TYPE = "application/vnd.jupyter.widget-view+json";

/** `<IPython.core.display.HTML object>`: a name and an address, where something else says more. */
const BARE_REPR = /^<[\w.]+(?: object)?(?: at 0x[0-9a-fA-F]+)?>$/;
const DATA_URI = /data:([\w.+/-]*);base64,([A-Za-z0-9+/=\s]{64,})/g;

/** @see the file comment */
export function renderBundle(data: MimeBundle): Part[] {
  const cut = data[CUT_MIME_TYPE];
  if (cut) return [{ kind: "gap", cut: cut as OutputCut }];
  const image = imageIn(data);
  if (image) return [image, ...asParts(captionIn(data))];
  if (WIDGET_TYPE in data) return asParts(`[widget, not shown] ${plainTextIn(data)}`.trim());
  return asParts(textIn(data) ?? announcement(data));
}

function asParts(text: string | undefined): Part[] {
  return text ? [{ kind: "text", text }] : [];
}

function imageIn(data: MimeBundle): Part | undefined {
  const mimeType = IMAGE_TYPES.find((type) => isBase64(data[type]));
  if (!mimeType) return undefined;
  const base64 = compactBase64(data[mimeType]);
  return { kind: "image", data: base64, mimeType, bytes: decodedBytes(base64) };
}

/** The text beside an image, if it says something. */
function captionIn(data: MimeBundle): string | undefined {
  return markupIn(data) ?? informativePlainText(data);
}

function textIn(data: MimeBundle): string | undefined {
  return (
    markupIn(data) ??
    jsonIn(data) ??
    informativePlainText(data) ??
    svgIn(data) ??
    htmlIn(data) ??
    otherTextIn(data) ??
    (plainTextIn(data) || undefined)
  );
}

function markupIn(data: MimeBundle): string | undefined {
  const markup = textOf(data["text/markdown"]) ?? textOf(data["text/latex"]);
  return markup === undefined ? undefined : withoutBase64(markup);
}

function jsonIn(data: MimeBundle): string | undefined {
  const json = data["application/json"];
  return json === undefined ? undefined : withoutBase64(JSON.stringify(json, null, 2));
}

function svgIn(data: MimeBundle): string | undefined {
  const svg = textOf(data["image/svg+xml"]);
  return svg === undefined ? undefined : withoutBase64(svg);
}

function htmlIn(data: MimeBundle): string | undefined {
  const html = textOf(data["text/html"]);
  if (html === undefined) return undefined;
  const text = withoutBase64(textOfHtml(html));
  const bytes = Buffer.byteLength(html);
  return text === "" ? `[html, ${bytes} bytes]` : `[html, ${bytes} bytes, as text]\n${text}`;
}

function otherTextIn(data: MimeBundle): string | undefined {
  const type = Object.keys(data).find((key) => key.startsWith("text/") && key !== "text/plain");
  const text = type === undefined ? undefined : textOf(data[type]);
  return text === undefined ? undefined : withoutBase64(text);
}

function informativePlainText(data: MimeBundle): string | undefined {
  const text = plainTextIn(data);
  return text === "" || BARE_REPR.test(text) ? undefined : text;
}

function plainTextIn(data: MimeBundle): string {
  return stripEscapes(textOf(data["text/plain"]) ?? "");
}

/** What there is, where none of it can be shown. */
function announcement(data: MimeBundle): string | undefined {
  const types = Object.entries(data).map(([type, value]) => `${type}, ${sizeOf(type, value)} bytes`);
  return types.length > 0 ? `[${types.join("; ")}, not shown]` : undefined;
}

function sizeOf(mimeType: string, value: unknown): number {
  const text = textOf(value) ?? JSON.stringify(value);
  const isBinary = !mimeType.startsWith("text/") && isBase64(value);
  return isBinary ? decodedBytes(compactBase64(value)) : Buffer.byteLength(text);
}

function textOf(value: unknown): string | undefined {
  const isText = typeof value === "string" || (Array.isArray(value) && value.every((line) => typeof line === "string"));
  return isText ? joinLines(value as MultilineString) : undefined;
}

function isBase64(value: unknown): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(compactBase64(value));
}

/** Kernels break base64 into lines; MCP's image content does not allow that. */
function compactBase64(value: unknown): string {
  return (textOf(value) ?? "").replace(/\s+/g, "");
}

function decodedBytes(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : Number(base64.endsWith("="));
  return Math.floor(((base64.length - padding) * 3) / 4);
}

function withoutBase64(text: string): string {
  return text.replace(DATA_URI, (_, mimeType: string, base64: string) => {
    return `[${mimeType || "data"}, ${decodedBytes(base64.replace(/\s+/g, ""))} bytes]`;
  });
}
