import type { ListQuery, TaskChanges, TaskPage, TaskRecord } from "@claimcheck/core";
import { decodeCursor, encodeCursor, TaskError } from "@claimcheck/core";
import { type Backend, PlainStore, type Updated } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class WritesBehind extends PlainStore {
  readonly #latest = new Map<string, TaskRecord>();

  protected override write(record: TaskRecord): void {
    this.#latest.set(record.taskId, record);
  }

  protected override live(taskId: string): TaskRecord | null {
    const latest = this.#latest.get(taskId);
    if (latest === undefined) return super.live(taskId);
    return this.expired(latest) ? null : latest;
  }

  protected override selected(query: ListQuery): TaskRecord[] {
    for (const [taskId, record] of this.#latest) this.backend.records.set(taskId, record);
    this.#latest.clear();
    return super.selected(query);
  }

  override async sweep(limit: number): Promise<number> {
    this.selected({ limit: 1 });
    return super.sweep(limit);
  }
}

class KeysInMemory extends PlainStore {
  constructor(backend: Backend) {
    super(Object.assign(Object.create(backend), { keys: new Map() }));
  }
}

class CursorsOfOneRun extends PlainStore {
  readonly #mark = `${process.hrtime.bigint()} `;

  override async list(query: ListQuery): Promise<TaskPage> {
    const page = await super.list(
      query.cursor === undefined ? query : { ...query, cursor: this.#unmark(query.cursor) },
    );
    if (page.nextCursor === undefined) return page;
    const { createdAt, taskId } = decodeCursor(page.nextCursor);
    return { ...page, nextCursor: encodeCursor({ createdAt, taskId: this.#mark + taskId }) };
  }

  #unmark(cursor: string): string {
    const { createdAt, taskId } = decodeCursor(cursor);
    if (!taskId.startsWith(this.#mark)) throw new TaskError("invalid_cursor", "That cursor is of another run.");
    return encodeCursor({ createdAt, taskId: taskId.slice(this.#mark.length) });
  }
}

class VersionsOfOneRun extends PlainStore {
  readonly #seen = new Set<string>();

  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const known = this.#seen.has(taskId) || version === this.backend.records.get(taskId)?.version;
    this.#seen.add(taskId);
    return super.update(taskId, known ? version : (this.backend.records.get(taskId)?.version ?? 0), changes);
  }

  override async create(record: TaskRecord): Promise<TaskRecord> {
    this.#seen.add(record.taskId);
    return super.create(record);
  }
}

export const reopenMistakes: readonly WrongStore[] = [
  {
    name: "updates are written behind",
    store: WritesBehind,
    fails: [
      "A promise that resolves has been made durable, to the degree that the store promises",
      "A promise that resolves has been made durable, to the degree that the store promises — retention goes on",
      "Methods are called as methods and may be called at the same time, from several processes on one store",
      "Methods are called as methods and may be called at the same time, from several processes on one store — of two updates one wins",
      "Methods are called as methods and may be called at the same time, from several processes on one store — the sweep of one leaves what the other made",
    ],
  },
  {
    name: "keys are kept in memory only",
    store: KeysInMemory,
    fails: [
      "A promise that resolves has been made durable, to the degree that the store promises — keys stay with their holders",
      "Methods are called as methods and may be called at the same time, from several processes on one store — one key is one task",
      "Methods are called as methods and may be called at the same time, from several processes on one store — the sweep of one leaves what the other made",
    ],
  },
  {
    name: "cursors end with their run",
    store: CursorsOfOneRun,
    fails: [
      "A promise that resolves has been made durable, to the degree that the store promises — a cursor outlives a restart",
    ],
  },
  {
    name: "versions are compared within a run only",
    store: VersionsOfOneRun,
    fails: [
      "A promise that resolves has been made durable, to the degree that the store promises — versions go on where they were",
    ],
  },
];
