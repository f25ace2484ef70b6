/** A stream of bytes of which the first and the last are kept, since the start says what was done and the end why it failed. */
import { StringDecoder } from "node:string_decoder";

const FIRST_CAPACITY = 4096;

/**
 * Keeps at most `maxBytes`. Memory grows with what is kept, and appending costs what is appended: once the limit is
 * passed, the second half is a ring.
 */
export class HeadAndTail {
  readonly #maxBytes: number;
  /** Where the ring begins that holds the tail. */
  readonly #ringStart: number;
  #kept: Buffer;
  #total = 0;
  /** Where the next byte goes once the limit is passed. */
  #at: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#ringStart = Math.floor(maxBytes / 2);
    this.#at = this.#ringStart;
    this.#kept = Buffer.alloc(Math.min(maxBytes, FIRST_CAPACITY));
  }

  append(bytes: Buffer): void {
    const room = Math.max(0, this.#maxBytes - this.#total);
    const linear = bytes.subarray(0, room);
    this.#grow(this.#total + linear.length);
    linear.copy(this.#kept, Math.min(this.#total, this.#maxBytes));
    this.#total += bytes.length;
    if (linear.length < bytes.length) this.#appendToRing(bytes.subarray(linear.length));
  }

  #grow(needed: number): void {
    if (needed <= this.#kept.length || this.#kept.length === this.#maxBytes) return;
    const larger = Buffer.alloc(Math.min(this.#maxBytes, Math.max(needed, this.#kept.length * 2)));
    this.#kept.copy(larger);
    this.#kept = larger;
  }

  #appendToRing(bytes: Buffer): void {
    const last = bytes.subarray(-(this.#maxBytes - this.#ringStart));
    const before = last.copy(this.#kept, this.#at);
    if (before < last.length) last.copy(this.#kept, this.#ringStart, before);
    const ringBytes = this.#maxBytes - this.#ringStart;
    this.#at = this.#ringStart + ((this.#at - this.#ringStart + last.length) % ringBytes);
  }

  /** How many bytes are not kept. */
  get droppedBytes(): number {
    return Math.max(0, this.#total - this.#maxBytes);
  }

  /** What is kept, with a note of what is not between head and tail. A character that the cut, or the end so far, splits is left out. */
  text(): string {
    if (this.droppedBytes === 0) return wholeCharacters(this.#kept.subarray(0, this.#total));
    const head = wholeCharacters(this.#kept.subarray(0, this.#ringStart));
    const tail = Buffer.concat([this.#kept.subarray(this.#at), this.#kept.subarray(this.#ringStart, this.#at)]);
    const note = `[… ${this.droppedBytes} bytes of output dropped here; the limit is ${this.#maxBytes} bytes …]`;
    return `${head}\n${note}\n${wholeCharacters(tail.subarray(firstCharacter(tail)))}`;
  }
}

const wholeCharacters = (bytes: Buffer): string => new StringDecoder("utf8").write(bytes);

/** Where the first whole character begins; a UTF-8 character has at most three bytes that continue it. */
function firstCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}
