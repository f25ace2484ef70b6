/**
 * The records that this process changes, so that a change need not read what it changes first. It is never the truth:
 * a store compares the version in the same step in which it writes, and what is here under another version is not used.
 */
import type { RecordTexts } from "./record-texts.js";
import { isTerminal, type TaskRecord } from "./task.js";

/** Many more than a process runs at once, and little beside what their handlers hold. */
const MOST_RECORDS = 1000;
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** How long the texts of a record's parts are. */
type Lengths = { [part in keyof RecordTexts]?: number };

interface Kept {
  record: TaskRecord;
  lengths: Lengths;
}

export class RecordCache {
  /** The least recently written one first. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

  get size(): number {
    return this.#kept.size;
  }

  /** The record as it was at `version`, if that is what is kept. */
  at(taskId: string, version: number): TaskRecord | undefined {
    const kept = this.#kept.get(taskId);
    return kept?.record.version === version ? kept.record : undefined;
  }

  /**
   * Keeps a frozen record, of which `texts` are those parts that have been read or written just now, in place of what
   * was kept of its task. A record that has finished is not kept, as it never changes.
   */
  keep(record: TaskRecord, texts: RecordTexts): void {
    const known = this.#kept.get(record.taskId)?.lengths;
    this.forget(record.taskId);
    if (isTerminal(record)) return;
    const lengths: Lengths = { ...known };
    for (const [part, text] of Object.entries(texts)) lengths[part as keyof Lengths] = text?.length ?? 0;
    this.#kept.set(record.taskId, { record, lengths });
    this.#characters += sum(lengths);
    this.#makeRoom();
  }

  forget(taskId: string): void {
    const kept = this.#kept.get(taskId);
    if (kept === undefined) return;
    this.#characters -= sum(kept.lengths);
    this.#kept.delete(taskId);
  }

  clear(): void {
    this.#kept.clear();
    this.#characters = 0;
  }

  #makeRoom(): void {
    for (const taskId of this.#kept.keys()) {
      if (this.#kept.size <= MOST_RECORDS && this.#characters <= MOST_CHARACTERS) return;
      this.forget(taskId);
    }
  }
}

function sum(lengths: Lengths): number {
  return Object.values(lengths).reduce((total, length) => total + length, 0);
}
