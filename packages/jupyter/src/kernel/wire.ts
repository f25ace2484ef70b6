/**
 * How one kernel message travels in one WebSocket frame, in the two protocols that Jupyter servers speak.
 *
 * Pure: bytes in, message out. Whatever a frame claims is checked against its real length, so that a cut or foreign
 * frame is a {@link MalformedFrameError} and never a half-read message.
 *
 * @see https://jupyter-server.readthedocs.io/en/latest/developers/websocket-protocols.html
 */

/** The four kernel channels that a server passes through. */
export type KernelChannel = "shell" | "iopub" | "control" | "stdin";

/** A message header, named as the messaging specification names it. */
export interface MessageHeader {
  msg_id: string;
  msg_type: string;
  /** Identifies the sender: a kernel's own session, or the client's. */
  session: string;
  username: string;
  /** ISO 8601. */
  date: string;
  version: string;
  subshell_id?: string | null;
}

/**
 * One message to or from a kernel.
 *
 * What a kernel sends is foreign data: `content` and `metadata` are whatever JSON object came. `parent_header` is `{}`
 * on a message that answers nothing.
 */
export interface KernelMessage {
  channel: KernelChannel;
  header: MessageHeader;
  parent_header: Partial<MessageHeader>;
  metadata: Record<string, unknown>;
  content: Record<string, unknown>;
  /** Binary attachments, in practice of comm messages only. */
  buffers: Uint8Array[];
}

/** A frame that is no kernel message. */
export class MalformedFrameError extends Error {
  override readonly name = "MalformedFrameError";
}

/** One protocol: what a message looks like as a frame. */
export interface WireProtocol {
  encode(message: KernelMessage): string | Uint8Array;
  /** @throws MalformedFrameError */
  decode(frame: string | Uint8Array): KernelMessage;
}

/** The name under which a server and a client agree on {@link v1Protocol}. */
export const V1_SUBPROTOCOL = "v1.kernel.websocket.jupyter.org";

/** Binary frames; the content stays one slice of bytes on the whole way from the kernel. */
export const v1Protocol: WireProtocol = { encode: encodeV1, decode: decodeV1 };

/** Text frames of JSON, or binary ones when there are buffers. Spoken when no subprotocol was agreed on. */
export const legacyProtocol: WireProtocol = { encode: encodeLegacy, decode: decodeLegacy };

/** The protocol that the server chose, by the `protocol` of the open socket (`""` when it chose none). */
export function wireProtocol(chosen: string): WireProtocol {
  return chosen === V1_SUBPROTOCOL ? v1Protocol : legacyProtocol;
}

const WORD_BYTES = 8;
const JSON_PARTS = ["header", "parent_header", "metadata", "content"] as const;

function encodeV1(message: KernelMessage): Uint8Array {
  const parts = [
    Buffer.from(message.channel),
    ...JSON_PARTS.map((part) => Buffer.from(JSON.stringify(message[part]))),
    ...message.buffers,
  ];
  const table = Buffer.alloc(WORD_BYTES * (parts.length + 2));
  table.writeBigUInt64LE(BigInt(parts.length + 1), 0);
  let offset = table.length;
  for (const [index, part] of parts.entries()) {
    table.writeBigUInt64LE(BigInt(offset), WORD_BYTES * (index + 1));
    offset += part.length;
  }
  table.writeBigUInt64LE(BigInt(offset), WORD_BYTES * (parts.length + 1));
  return Buffer.concat([table, ...parts]);
}

function decodeV1(frame: string | Uint8Array): KernelMessage {
  if (typeof frame === "string") throw new MalformedFrameError("a text frame, where this protocol has binary ones");
  const bytes = asBuffer(frame);
  const [channel, header, parentHeader, metadata, content, ...buffers] = slices(bytes, v1Offsets(bytes));
  if (!channel || !header || !parentHeader || !metadata || !content) {
    throw new MalformedFrameError("fewer than the five parts of a message");
  }
  return toMessage({
    channel: channel.toString(),
    header: parseJson(header.toString()),
    parent_header: parseJson(parentHeader.toString()),
    metadata: parseJson(metadata.toString()),
    content: parseJson(content.toString()),
    buffers,
  });
}

function v1Offsets(bytes: Buffer): number[] {
  const count = readWord(bytes, 0);
  if (count < 2 || count > bytes.length / WORD_BYTES - 1) {
    throw new MalformedFrameError(`${count} offsets announced in a frame of ${bytes.length} bytes`);
  }
  return Array.from({ length: count }, (_, index) => readWord(bytes, WORD_BYTES * (index + 1)));
}

function readWord(bytes: Buffer, at: number): number {
  if (bytes.length < at + WORD_BYTES) throw new MalformedFrameError(`a frame of only ${bytes.length} bytes`);
  return Number(bytes.readBigUInt64LE(at));
}

/** The pieces between neighbouring offsets. */
function slices(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  return offsets.slice(0, -1).map((start, index) => {
    const end = offsets[index + 1] ?? 0;
    if (start > end || end > bytes.length) {
      throw new MalformedFrameError(`a part at ${start} to ${end} in a frame of ${bytes.length} bytes`);
    }
    return bytes.subarray(start, end);
  });
}

function encodeLegacy(message: KernelMessage): string | Uint8Array {
  const { buffers, ...rest } = message;
  if (buffers.length === 0) return JSON.stringify({ ...rest, buffers: [] });
  const parts = [Buffer.from(JSON.stringify(rest)), ...buffers];
  const table = Buffer.alloc(4 * (parts.length + 1));
  table.writeUInt32BE(parts.length, 0);
  let offset = table.length;
  for (const [index, part] of parts.entries()) {
    table.writeUInt32BE(offset, 4 * (index + 1));
    offset += part.length;
  }
  return Buffer.concat([table, ...parts]);
}

function decodeLegacy(frame: string | Uint8Array): KernelMessage {
  if (typeof frame === "string") return toMessage({ ...asObject(parseJson(frame), "frame"), buffers: [] });
  const bytes = asBuffer(frame);
  const [json, ...buffers] = slices(bytes, legacyOffsets(bytes));
  if (!json) throw new MalformedFrameError("a binary frame without a message in it");
  return toMessage({ ...asObject(parseJson(json.toString()), "frame"), buffers });
}

/** The offsets of the parts, and the end of the frame as the last one. */
function legacyOffsets(bytes: Buffer): number[] {
  const count = bytes.length < 4 ? 0 : bytes.readUInt32BE(0);
  if (count === 0 || count > bytes.length / 4 - 1) {
    throw new MalformedFrameError(`${count} parts announced in a frame of ${bytes.length} bytes`);
  }
  const starts = Array.from({ length: count }, (_, index) => bytes.readUInt32BE(4 * (index + 1)));
  return [...starts, bytes.length];
}

function toMessage(raw: Record<string, unknown>): KernelMessage {
  const header = asObject(raw.header, "header");
  if (typeof header.msg_id !== "string" || typeof header.msg_type !== "string") {
    throw new MalformedFrameError("a header without msg_id and msg_type");
  }
  return {
    channel: asChannel(raw.channel),
    header: header as unknown as MessageHeader,
    parent_header: asObject(raw.parent_header ?? {}, "parent_header"),
    metadata: asObject(raw.metadata ?? {}, "metadata"),
    content: asObject(raw.content ?? {}, "content"),
    buffers: raw.buffers as Uint8Array[],
  };
}

function asChannel(value: unknown): KernelChannel {
  if (value === "shell" || value === "iopub" || value === "control" || value === "stdin") return value;
  throw new MalformedFrameError(`an unknown channel: ${JSON.stringify(value)}`);
}

function asObject(value: unknown, part: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new MalformedFrameError(`a ${part} that is no JSON object`);
}

/** Strings are matched so that they can be skipped: only a bare NaN or Infinity is replaced. */
const STRING_OR_NON_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

/**
 * Parses JSON, and Python's superset of it: `json.dumps` writes NaN and Infinity as bare words, and a whole reply must
 * not be lost over one of them. They become null, as in `JSON.stringify`.
 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parseLoosely(text);
  }
}

function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text.replace(STRING_OR_NON_NUMBER, (token) => (token.startsWith('"') ? token : "null")));
  } catch (cause) {
    throw new MalformedFrameError("a part that is no JSON", { cause });
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
