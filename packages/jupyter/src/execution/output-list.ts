/**
 * The outputs of one run, bounded in number and size: when there are too many, the middle ones go.
 */
import type { CellOutput, DisplayDataOutput, ErrorOutput, ExecuteResultOutput } from "../notebook/nbformat.js";
import { type Cut, measure } from "./excerpt.js";
import { cutOutput, type OutputCut } from "./mime-bundle.js";
import type { TerminalText } from "./terminal-text.js";

/** One output while the run may still change it. */
export type OutputSlot = StreamSlot | FixedSlot;

export interface StreamSlot {
  kind: "stream";
  name: string;
  text: TerminalText;
}

export interface FixedSlot {
  kind: "fixed";
  output: DisplayDataOutput | ExecuteResultOutput | ErrorOutput;
  bytes: number;
  /** What was too large to be kept of it. */
  cut: OutputCut | undefined;
  displayId: string | undefined;
}

export interface OutputListLimits {
  maxOutputs: number;
  maxBytes: number;
}

/** @see the file comment */
export class OutputList {
  readonly #limits: OutputListLimits;
  readonly #onDropped: (slot: OutputSlot) => void;
  readonly #head: Region = { slots: [], bytes: 0 };
  readonly #tail: Region = { slots: [], bytes: 0 };
  /** Index of the first output of the tail that is still kept: shifting an array costs its length. */
  #first = 0;
  #dropped: Required<Omit<OutputCut, "mimeTypes">> | undefined;

  /** @param onDropped called for every output that leaves the list */
  constructor(limits: OutputListLimits, onDropped: (slot: OutputSlot) => void) {
    this.#limits = limits;
    this.#onDropped = onDropped;
  }

  get last(): OutputSlot | undefined {
    return this.#tail.slots.at(-1) ?? this.#head.slots.at(-1);
  }

  push(slot: OutputSlot): void {
    this.#closeLast();
    if (this.#takesIntoHead()) this.#head.slots.push(slot);
    else this.#tail.slots.push(slot);
    this.#trim();
  }

  /** How large `slot` may become by an update. */
  roomFor(slot: FixedSlot): number {
    const others = this.#head.bytes + this.#tail.bytes - (slot === this.last ? 0 : slot.bytes);
    return Math.max(0, this.#limits.maxBytes - others);
  }

  /** Notes that an update made `slot` larger or smaller by `bytes`. */
  resized(slot: FixedSlot, bytes: number): void {
    if (slot === this.last) return;
    const region = this.#head.slots.includes(slot) ? this.#head : this.#tail;
    region.bytes += bytes;
  }

  clear(): void {
    for (const slot of [...this.#head.slots, ...this.#keptTail()]) this.#onDropped(slot);
    for (const region of [this.#head, this.#tail]) {
      region.slots = [];
      region.bytes = 0;
    }
    this.#first = 0;
    this.#dropped = undefined;
  }

  /** The outputs as a notebook holds them, gaps marked. */
  outputs(): CellOutput[] {
    const gap = this.#dropped ? [cutOutput({ ...this.#dropped })] : [];
    return [...this.#head.slots.flatMap(outputsOf), ...gap, ...this.#keptTail().flatMap(outputsOf)];
  }

  #keptTail(): OutputSlot[] {
    return this.#tail.slots.slice(this.#first);
  }

  #closeLast(): void {
    const last = this.last;
    if (!last) return;
    const region = this.#tail.slots.length > 0 ? this.#tail : this.#head;
    region.bytes += bytesOf(last);
  }

  /** The head is the first half of what fits, in number or in size, whichever is reached first. */
  #takesIntoHead(): boolean {
    if (this.#tail.slots.length > 0) return false;
    return this.#head.slots.length < this.#limits.maxOutputs / 2 && this.#head.bytes < this.#limits.maxBytes / 2;
  }

  #trim(): void {
    const maxTail = Math.max(1, this.#limits.maxOutputs - this.#head.slots.length);
    const maxTailBytes = this.#limits.maxBytes - this.#head.bytes;
    while (this.#tail.slots.length - this.#first > maxTail || this.#tail.bytes > maxTailBytes) {
      const slot = this.#tail.slots[this.#first];
      if (!slot || slot === this.last) break;
      this.#drop(slot);
      this.#first++;
    }
    if (this.#first * 2 <= this.#tail.slots.length) return;
    this.#tail.slots = this.#keptTail();
    this.#first = 0;
  }

  #drop(slot: OutputSlot): void {
    this.#tail.bytes -= bytesOf(slot);
    const size = sizeOf(slot);
    const before = this.#dropped ?? { outputs: 0, bytes: 0, lines: 0 };
    this.#dropped = {
      outputs: before.outputs + 1,
      bytes: before.bytes + size.bytes,
      lines: before.lines + size.lines,
    };
    this.#onDropped(slot);
  }
}

/** Outputs, and their size without the very last output's: a stream is measured once it has stopped growing. */
interface Region {
  slots: OutputSlot[];
  bytes: number;
}

function bytesOf(slot: OutputSlot): number {
  return slot.kind === "stream" ? slot.text.bytes : slot.bytes;
}

/** The exact size of all that an output had, kept or not. */
function sizeOf(slot: OutputSlot): Cut {
  if (slot.kind === "fixed") return { bytes: slot.bytes + (slot.cut?.bytes ?? 0), lines: slot.cut?.lines ?? 0 };
  const { head, tail, cut } = slot.text.excerpt();
  const kept = measure(head + tail);
  return { bytes: kept.bytes + (cut?.bytes ?? 0), lines: kept.lines + (cut?.lines ?? 0) };
}

function outputsOf(slot: OutputSlot): CellOutput[] {
  if (slot.kind === "fixed") return slot.cut ? [slot.output, cutOutput(slot.cut)] : [slot.output];
  const { head, tail, cut } = slot.text.excerpt();
  const parts = [head, tail].filter((text) => text !== "");
  const streams = parts.map((text): CellOutput => ({ output_type: "stream", name: slot.name, text }));
  return cut ? [...streams.slice(0, 1), cutOutput(cut), ...streams.slice(1)] : streams;
}
