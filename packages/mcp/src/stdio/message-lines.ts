/** What comes in on stdin, line by line: one that is no message is answered, and the SDK never sees it. */
import { randomUUID } from "node:crypto";
import { Transform, type TransformCallback } from "node:stream";
import { STDIO_DEFAULT_MAX_BUFFER_SIZE } from "@modelcontextprotocol/server";
import { invalidParams, type Rejection, rejection, rejectionOf, tidied } from "../wire/malformed.js";

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
    const taken = read(line, text);
    if (!Buffer.isBuffer(taken)) return taken;
    this.push(Buffer.concat([taken, Buffer.of(NEWLINE)]));
    return undefined;
  }
}

/** The line that the SDK is to read, or what is answered in its place. */
function read(line: Buffer, text: string): Buffer | Rejection {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return rejection(-32700, "Parse error: the line is not JSON.");
  }
  const tidy = tidied(message);
  return rejectionOf(tidy) ?? (tidy === message ? line : written(tidy));
}

/** What nobody else has in a string. */
const BEYOND_JSON = `beyond-json-${randomUUID()}`;
const NUMBER_BEYOND_JSON = new RegExp(`"${BEYOND_JSON}(-?)"`, "g");

/** The message as a line again, with `1e400` for the number that JSON reads so and would write as `null`. */
function written(message: unknown): Buffer | Rejection {
  const beyond = (_name: string, value: unknown): unknown =>
    typeof value === "number" && !Number.isFinite(value) ? `${BEYOND_JSON}${value < 0 ? "-" : ""}` : value;
  try {
    return Buffer.from(JSON.stringify(message, beyond).replace(NUMBER_BEYOND_JSON, "$11e400"));
  } catch {
    // Nested more deeply than the stack can follow, which it is read without.
    return invalidParams(message, "they are nested too deeply");
  }
}
