/**
 * Changes of records in a store that keeps them as texts: one compare-and-set each, which reads nothing first where this
 * process has written the record last, and writes no part that does not change.
 */
import { changedRecord } from "./changed-record.js";
import { frozenCopy } from "./frozen-copy.js";
import { RecordCache } from "./record-cache.js";
import { changedTextsOf, type RecordTexts, recordOf } from "./record-texts.js";
import { applyChanges, type TaskChanges, type TaskRecord } from "./task.js";

/** One change of a record, and what of it has to be written. */
export interface RecordChange {
  known: TaskRecord;
  /** What the record becomes; not a copy yet of what the caller has. */
  next: TaskRecord;
  texts: RecordTexts;
  /** When the change finishes the task, the instant, epoch milliseconds. */
  finishedAt: number | undefined;
}

/** Where the records are. */
export interface RecordRows {
  /** All texts of an unexpired record. */
  read(taskId: string): Promise<RecordTexts | null>;
  /** Writes the texts that changed, if the record's version is still that of `known`, in one step. */
  write(change: RecordChange): Promise<"written" | "conflict" | "gone">;
}

export class RecordChanger {
  readonly #rows: RecordRows;
  readonly #cache = new RecordCache();

  constructor(rows: RecordRows) {
    this.#rows = rows;
  }

  /** As `TaskStore.update` promises. */
  async change(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    const known = this.#cache.at(taskId, expectedVersion) ?? (await this.#read(taskId));
    if (known === null) return null;
    if (known.version !== expectedVersion) return "conflict";
    const changed = applyChanges(known, changes);
    const texts = changedTextsOf(changed, changes);
    const writing = this.#rows.write({ known, next: changed, texts, finishedAt: changes.finishedAt });
    // The write is on its way, which takes longer than this.
    const next = changedRecord(known, changes);
    const done = await writing;
    if (done === "written") {
      this.#cache.keep(next, texts);
      return next;
    }
    this.#cache.forget(taskId);
    return done === "conflict" ? "conflict" : null;
  }

  /** A frozen record that has been written just now, and its texts. */
  keep(record: TaskRecord, texts: RecordTexts): void {
    this.#cache.keep(record, texts);
  }

  clear(): void {
    this.#cache.clear();
  }

  async #read(taskId: string): Promise<TaskRecord | null> {
    const texts = await this.#rows.read(taskId);
    if (texts === null) return null;
    const record = frozenCopy(recordOf(texts));
    this.#cache.keep(record, texts);
    return record;
  }
}
