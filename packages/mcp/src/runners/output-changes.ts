/**
 * A list of outputs that is said again and again, a little longer each time: what has to be sent of it so that the other
 * side has the whole. Saying it for every line costs a look at each output, and sends what is new.
 */
import type { JsonValue } from "@claimcheck/core";

export interface OutputChanges {
  /** How many of the outputs that the other side has are as they were. */
  from: number;
  /** What comes after them. */
  outputs: readonly JsonValue[];
}

export class SaidOutputs {
  /** Copies: a tool may write into what it has said. */
  readonly #said: unknown[] = [];

  changesTo(outputs: readonly JsonValue[]): OutputChanges {
    let from = 0;
    while (from < outputs.length && from < this.#said.length && isSame(this.#said[from], outputs[from])) from += 1;
    const changed = outputs.slice(from);
    this.#said.splice(from, this.#said.length - from, ...changed.map(flatCopy));
    return { from, outputs: changed };
  }
}

/** What is not flat is not looked into: it is always taken for changed. */
const NOT_FLAT = Symbol();

function flatCopy(output: JsonValue): unknown {
  if (!isObject(output)) return output;
  return Array.isArray(output) || Object.values(output).some(isObject) ? NOT_FLAT : { ...output };
}

function isSame(said: unknown, output: JsonValue | undefined): boolean {
  if (!isObject(said) || !isObject(output)) return said === output;
  const names = Object.keys(output);
  return (
    !Array.isArray(output) &&
    names.length === Object.keys(said).length &&
    names.every((name) => Object.hasOwn(said, name) && said[name] === output[name])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
