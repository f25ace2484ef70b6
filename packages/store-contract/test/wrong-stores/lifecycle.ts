import type { TaskRecord } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class OpensAfresh extends PlainStore {
  #opened = false;

  override async open(): Promise<void> {
    if (this.#opened) this.backend.records.clear();
    this.#opened = true;
  }
}

class ClosesOnce extends PlainStore {
  #closed = false;

  override async close(): Promise<void> {
    if (this.#closed) throw new Error("closed already");
    this.#closed = true;
  }
}

class LogsPayloads extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    process.stderr.write(`create ${JSON.stringify(record)}\n`);
    return super.create(record);
  }
}

class QuotesPayloadsInErrors extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    return super.create(record).catch((error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(record)}`);
    });
  }
}

export const lifecycleMistakes: readonly WrongStore[] = [
  {
    name: "open empties what is there",
    store: OpensAfresh,
    fails: ["May be called again: a second call changes nothing"],
  },
  { name: "close twice is an error", store: ClosesOnce, fails: ["May be called again"] },
  { name: "records are logged", store: LogsPayloads, fails: ["A store never logs a payload"] },
  { name: "errors quote records", store: QuotesPayloadsInErrors, fails: ["A store never logs a payload"] },
];
