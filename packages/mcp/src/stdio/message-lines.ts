/**
 * What comes in on stdin, line by line. The SDK's transport drops a line that is no message without a word, and whoever
 * sent it waits for an answer for ever; it gets one here (JSON-RPC 2.0, section 5.1), and the SDK never sees the line.
 */
import { Transform, type TransformCallback } from "node:stream";
import { parseJSONRPCMessage, STDIO_DEFAULT_MAX_BUFFER_SIZE } from "@modelcontextprotocol/server";
import { asObject } from "../wire/request.js";

/** The answer to a line that is no message. The id is left out where it cannot be told, as MCP's schema has it. */
export interface Rejection {
  jsonrpc: "2.0";
  id?: string | number;
  error: { code: number; message: string };
}

export interface MessageLinesOptions {
  /** Sends an answer; the next lines are read when it is out. */
  reject: (rejection: Rejection) => Promise<unknown>;
  /** A longer line is skipped up to its end. Default: what the SDK's transport takes, 10 MiB. */
  maxLineBytes?: number;
}

const NEWLINE = 0x0a;

export class MessageLines extends Transform {
  readonly #reject: MessageLinesOptions["reject"];
  readonly #maxLineBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor({ reject, maxLineBytes = STDIO_DEFAULT_MAX_BUFFER_SIZE - 1 }: MessageLinesOptions) {
    super();
    this.#reject = reject;
    this.#maxLineBytes = maxLineBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#take(chunk).then(() => done(), done);
  }

  async #take(chunk: Buffer): Promise<void> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const rejection = this.#line();
      if (rejection !== undefined) await this.#reject(rejection).catch(() => {});
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length <= this.#maxLineBytes) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** The line is whole: it goes on, or has to be answered. */
  #line(): Rejection | undefined {
    const line = Buffer.concat(this.#pieces);
    const isTooLong = this.#length > this.#maxLineBytes;
    this.#pieces = [];
    this.#length = 0;
    if (isTooLong) return rejection(-32600, `The line is longer than the ${this.#maxLineBytes} bytes that are taken.`);
    const text = line.toString("utf8");
    if (/^[ \t\r]*$/.test(text)) return undefined;
    const rejected = rejectionOf(text);
    if (rejected === undefined) this.push(Buffer.concat([line, Buffer.of(NEWLINE)]));
    return rejected;
  }
}

function rejectionOf(line: string): Rejection | undefined {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return rejection(-32700, "Parse error: the line is not JSON.");
  }
  try {
    parseJSONRPCMessage(message);
    return undefined;
  } catch {
    return isNotification(message) ? undefined : requestRejection(message);
  }
}

/** Never answered, whatever is wrong with it (JSON-RPC 2.0, section 4.1); the SDK tells `onerror` and drops it. */
function isNotification(message: unknown): boolean {
  const { jsonrpc, method, ...rest } = asObject(message) ?? {};
  return jsonrpc === "2.0" && typeof method === "string" && !("id" in rest);
}

/** A response's id is one of ours: an answer to it would be taken for the answer to a request of the client's. */
function requestRejection(message: unknown): Rejection {
  const { jsonrpc, id, method, params } = asObject(message) ?? {};
  const known = typeof method === "string" && (typeof id === "string" || Number.isSafeInteger(id)) ? { id } : {};
  const isRequest = jsonrpc === "2.0" && "id" in known;
  if (!isRequest)
    return { ...rejection(-32600, "Invalid request: the line is no JSON-RPC message."), ...known } as Rejection;
  const why = asObject(params) === undefined ? "params must be an object" : "params._meta has a member that is invalid";
  return { ...rejection(-32602, `Invalid params: ${why}.`), ...known } as Rejection;
}

function rejection(code: number, message: string): Rejection {
  return { jsonrpc: "2.0", error: { code, message } };
}
