/**
 * A text that only grows, of which at most a given number of bytes is kept: its head and its tail.
 *
 * What is kept depends on the text alone, not on the pieces in which it came, and appending costs what the piece costs:
 * the text is never joined again.
 */
import { type Cut, type Excerpt, excerptOf, headOf, MAX_COLOUR_ESCAPE, measure, tailOf } from "./excerpt.js";

/** Kept beyond the tail, so that a cut can see whether it falls on a line's start or inside a colour escape. */
const LOOK_BEHIND_BYTES = 4 * MAX_COLOUR_ESCAPE;

/** @see the file comment */
export class BoundedText {
  readonly #maxBytes: number;
  readonly #maxTailBytes: number;
  /** The whole text until the limit is passed, then its head. */
  #head = "";
  #headBytes = 0;
  #tail: Piece[] = [];
  #tailBytes = 0;
  /** Index of the first piece that is still kept: shifting an array costs its length. */
  #first = 0;
  #dropped: Cut | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxTailBytes = Math.floor(maxBytes / 2);
  }

  /** Bytes held in memory now: a little over the limit at most. */
  get bytes(): number {
    return this.#headBytes + this.#tailBytes;
  }

  /** Appends well-formed text in which no colour escape and no character is split over two pieces. */
  append(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.#dropped) this.#appendToTail(text, bytes);
    else this.#appendToHead(text, bytes);
  }

  /** What is kept of the text followed by `rest`. */
  excerpt(rest: string): Excerpt {
    if (!this.#dropped) return this.#excerptOfWhole(rest);
    const kept = this.#tail.slice(this.#first).map((piece) => piece.text);
    const text = kept.join("") + rest;
    const tail = tailOf(text, this.#maxTailBytes);
    return { head: this.#head, tail, cut: sum(this.#dropped, measure(text.slice(0, text.length - tail.length))) };
  }

  #excerptOfWhole(rest: string): Excerpt {
    const text = this.#head + rest;
    // The size is known without looking: reading a growing text at each glance would cost its square.
    if (this.#headBytes + Buffer.byteLength(rest) <= this.#maxBytes) return { head: text, tail: "", cut: undefined };
    return excerptOf(text, { maxBytes: this.#maxBytes });
  }

  #appendToHead(text: string, bytes: number): void {
    this.#head += text;
    this.#headBytes += bytes;
    if (this.#headBytes > this.#maxBytes) this.#split();
  }

  #split(): void {
    const whole = this.#head;
    const wholeBytes = this.#headBytes;
    this.#head = headOf(whole, Math.floor(this.#maxBytes / 2));
    this.#headBytes = Buffer.byteLength(this.#head);
    this.#dropped = { bytes: 0, lines: 0 };
    this.#appendToTail(whole.slice(this.#head.length), wholeBytes - this.#headBytes);
  }

  #appendToTail(text: string, bytes: number): void {
    const from = bytes > this.#enough ? characterStart(text, text.length - this.#enough) : 0;
    if (from > 0) this.#drop(text.slice(0, from));
    const piece = ownCopy(text.slice(from));
    this.#tail.push(piece);
    this.#tailBytes += piece.bytes;
    this.#trim();
  }

  /** So much is kept that what the tail begins with can still be looked at. */
  get #enough(): number {
    return this.#maxTailBytes + LOOK_BEHIND_BYTES;
  }

  #trim(): void {
    for (;;) {
      const piece = this.#tail[this.#first];
      if (!piece || this.#tailBytes - piece.bytes < this.#enough) break;
      this.#drop(piece.text);
      this.#tailBytes -= piece.bytes;
      this.#first++;
    }
    if (this.#first * 2 <= this.#tail.length) return;
    this.#tail = this.#tail.slice(this.#first);
    this.#first = 0;
  }

  #drop(text: string): void {
    this.#dropped = sum(this.#dropped, measure(text));
  }
}

interface Piece {
  text: string;
  bytes: number;
}

function sum(a: Cut | undefined, b: Cut): Cut {
  return { bytes: (a?.bytes ?? 0) + b.bytes, lines: (a?.lines ?? 0) + b.lines };
}

/** `index`, or the one before when a character began there. */
function characterStart(text: string, index: number): number {
  return index > 0 && /^[\udc00-\udfff]/.test(text[index] ?? "") ? index - 1 : Math.max(0, index);
}

/** A string of its own: a slice would keep the whole message that it was cut from in memory. */
function ownCopy(text: string): Piece {
  const bytes = Buffer.from(text);
  return { text: bytes.toString(), bytes: bytes.length };
}
