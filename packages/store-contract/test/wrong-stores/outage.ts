import type { ListQuery, TaskChanges, TaskPage, TaskRecord } from "@claimcheck/core";
import { PlainStore, type Updated } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class FindsNothingWhileOut extends PlainStore {
  override async get(taskId: string): Promise<TaskRecord | null> {
    return this.backend.isOut ? null : super.get(taskId);
  }

  override async list(query: ListQuery): Promise<TaskPage> {
    return this.backend.isOut ? { tasks: [] } : super.list(query);
  }

  override async findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    return this.backend.isOut ? null : super.findByKey(owner, key);
  }
}

class HangsWhileOut extends PlainStore {
  protected override turn(): Promise<void> {
    return super.turn().catch(() => new Promise(() => {}));
  }
}

class StaysBroken extends PlainStore {
  #broken = false;

  protected override async turn(): Promise<void> {
    this.#broken ||= this.backend.isOut;
    if (this.#broken) throw new Error("The connection is closed.");
    await super.turn();
  }
}

/** Keeps what it could not send, and sends it later, whatever its caller was told. */
class CreatesLater extends PlainStore {
  readonly #unsent: TaskRecord[] = [];

  override async create(record: TaskRecord): Promise<TaskRecord> {
    try {
      const created = await super.create(record);
      for (const unsent of this.#unsent.splice(0)) this.insert(unsent);
      return created;
    } catch (error) {
      if (this.backend.isOut) this.#unsent.push(record);
      throw error;
    }
  }
}

class WritesHalf extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const record = this.backend.records.get(taskId);
    const { outcome: _lost, ...first } = changes as TaskChanges & { outcome?: unknown };
    if (this.backend.isOut && record !== undefined)
      this.backend.records.set(taskId, { ...record, ...first, version: record.version + 1 } as TaskRecord);
    return super.update(taskId, version, changes);
  }
}

class ForgetsItsListeners extends PlainStore {
  protected override async turn(): Promise<void> {
    if (this.backend.isOut) this.backend.listeners.clear();
    await super.turn();
  }
}

const REJECTS = "A store that is broken rejects; the caller takes nothing for granted then";
const AFTERWARDS = `${REJECTS} — afterwards it works by itself, and has what was acknowledged`;
const RETRIES = `${REJECTS} — a retry of a create that was rejected makes one task, whole`;
const UPDATES = `${REJECTS} — an update that was rejected has happened whole or not at all`;
const SIGNALS = [`${REJECTS} — signals come back`, `${REJECTS} — signals between processes come back`];

export const outageMistakes: readonly WrongStore[] = [
  {
    name: "what cannot be looked for is not there",
    store: FindsNothingWhileOut,
    fails: [REJECTS, AFTERWARDS, ...SIGNALS],
  },
  {
    name: "calls wait for the end of an outage",
    store: HangsWhileOut,
    fails: [REJECTS, AFTERWARDS, RETRIES, UPDATES, ...SIGNALS],
  },
  { name: "an outage is the end of the handle", store: StaysBroken, fails: [AFTERWARDS, RETRIES, UPDATES, ...SIGNALS] },
  { name: "what was rejected is created later", store: CreatesLater, fails: [RETRIES] },
  { name: "an update that was rejected has been written in part", store: WritesHalf, fails: [UPDATES] },
  { name: "listeners are forgotten with the connection", store: ForgetsItsListeners, fails: SIGNALS },
];
