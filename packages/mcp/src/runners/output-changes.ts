/**
 * A list of outputs that is said again and again, a little longer each time: what has to be sent of it so that the other
 * side has the whole. What is new is sent at once. A look at all that was said before, which a tool may have written into
 * since, takes the longer the more there is, so it takes a small part of the time and no more.
 */
import type { JsonValue } from "@claimcheck/core";

export interface OutputChanges {
  /** How many of the outputs that the other side has are as they were. */
  from: number;
  /** What comes after them. */
  outputs: readonly JsonValue[];
}

/** So many of the last outputs are looked at each time: that is where tools write. */
const LAST = 16;

/** How many times as long as a whole look took the next one waits. */
const PAUSE = 20;

export class SaidOutputs {
  /** Copies: a tool may write into what it has said. */
  readonly #said: unknown[] = [];
  readonly #now: () => number;
  #lookAt = 0;
  #isBehind = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether there is something in the list as it was said last that was not looked at. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** @param whole look at all of it, whatever that takes */
  changesTo(outputs: readonly JsonValue[], whole = false): OutputChanges {
    const startedAt = this.#now();
    const known = Math.min(outputs.length, this.#said.length);
    const first = whole || startedAt >= this.#lookAt ? 0 : Math.max(0, known - LAST);
    let from = first;
    while (from < known && isSame(this.#said[from], outputs[from] as JsonValue)) from += 1;
    const changed = outputs.slice(from);
    this.#said.length = from;
    for (const output of changed) this.#said.push(copyOf(output));
    this.#isBehind = first > 0;
    if (first === 0) this.#lookAt = this.#now() + PAUSE * (this.#now() - startedAt);
    return { from, outputs: changed };
  }
}

/** What an object looked like. A text, as most outputs are, stands for itself. */
class Look {
  /** Absent where JSON cannot say it: then it is like nothing else. */
  readonly json: string | undefined;

  constructor(output: object) {
    this.json = jsonOf(output);
  }
}

const copyOf = (output: JsonValue): unknown => (isObject(output) ? new Look(output) : output);

function isSame(said: unknown, output: JsonValue): boolean {
  if (!isObject(output)) return said === output;
  return said instanceof Look && said.json !== undefined && said.json === jsonOf(output);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function jsonOf(output: object): string | undefined {
  try {
    return JSON.stringify(output);
  } catch {
    return undefined;
  }
}
