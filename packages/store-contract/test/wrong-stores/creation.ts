import type { TaskRecord } from "@claimcheck/core";
import { isTerminal } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class ForgetsMembers extends PlainStore {
  protected override insert({ pollIntervalMs: _forgotten, ...record }: TaskRecord): void {
    super.insert(record);
  }
}

export class ChecksThenInserts extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    const holder = await this.findByKey(record.owner, record.idempotencyKey ?? "\ud800 none");
    if (holder !== null) return holder;
    await this.turn();
    if (this.backend.records.has(record.taskId)) throw new Error("That task id is taken.");
    this.insert(record);
    return this.copy(record);
  }
}

class AnswersWhatWasSent extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    await super.create(record);
    return this.copy(record);
  }
}

class ReplaysRunningTasksOnly extends PlainStore {
  protected override holderOf(record: TaskRecord): TaskRecord | null {
    const holder = super.holderOf(record);
    return holder !== null && isTerminal(holder) ? null : holder;
  }
}

class RefusesAResentCreate extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    if (this.backend.records.has(record.taskId)) throw new Error("That task id is taken.");
    return super.create(record);
  }
}

class OverwritesATakenId extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    await this.turn();
    const holder = this.holderOf(record);
    if (holder === null) this.insert(record);
    return this.copy(holder ?? record);
  }
}

class KeepsTheKeyOfARefusal extends PlainStore {
  override async create(record: TaskRecord): Promise<TaskRecord> {
    await this.turn();
    const holder = this.holderOf(record);
    if (holder !== null) return this.copy(holder);
    const { owner, taskId, idempotencyKey } = record;
    if (idempotencyKey !== undefined) this.backend.keys.set(this.keyOf(owner, idempotencyKey), taskId);
    if (this.backend.records.has(taskId)) throw new Error("That task id is taken.");
    this.insert(record);
    return this.copy(record);
  }
}

class TakesUndefinedForAKey extends PlainStore {
  protected override holderOf(record: TaskRecord): TaskRecord | null {
    return super.holderOf({ ...record, idempotencyKey: `${record.idempotencyKey}` });
  }
}

class FindsByPrefix extends PlainStore {
  override async get(taskId: string): Promise<TaskRecord | null> {
    await this.turn();
    const found = [...this.backend.records.keys()].find((known) => known.startsWith(taskId));
    const record = found === undefined ? null : this.live(found);
    return record === null ? null : this.copy(record);
  }
}

export const creationMistakes: readonly WrongStore[] = [
  { name: "a member is forgotten", store: ForgetsMembers, fails: ["Stores a new record"] },
  {
    name: "create looks, then inserts",
    store: ChecksThenInserts,
    fails: [
      "Is atomic on owner and key: of any number of concurrent creates with one key, one record exists afterwards",
      "A key whose task has expired is free — for one of those who ask for it at once",
      "Methods are called as methods and may be called at the same time, from several processes on one store — one key is one task",
    ],
  },
  {
    name: "create answers what it was sent",
    store: AnswersWhatWasSent,
    fails: [
      "Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is",
      "Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is — also when that one has finished",
      "Is atomic on owner and key: of any number of concurrent creates with one key, one record exists afterwards",
      "A key whose task has expired is free — and stays with its new holder when the old one is swept",
      "A key whose task has expired is free — for one of those who ask for it at once",
      "A promise that resolves has been made durable, to the degree that the store promises — keys stay with their holders",
      "Methods are called as methods and may be called at the same time, from several processes on one store — one key is one task",
      "A store that is broken rejects; the caller takes nothing for granted then — afterwards it works by itself, and has what was acknowledged",
    ],
  },
  {
    name: "only running tasks are replayed",
    store: ReplaysRunningTasksOnly,
    fails: [
      "Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is — also when that one has finished",
    ],
  },
  {
    name: "a resent create is refused",
    store: RefusesAResentCreate,
    fails: [
      "Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is — so a create that is sent twice is one",
    ],
  },
  {
    name: "a taken id is overwritten",
    store: OverwritesATakenId,
    fails: [
      "A task id that is taken is a rejection and changes nothing",
      "A task id that is taken is a rejection and changes nothing — among concurrent creates as well",
    ],
  },
  {
    name: "a refused create keeps its key",
    store: KeepsTheKeyOfARefusal,
    fails: ["A task id that is taken is a rejection and changes nothing"],
  },
  {
    name: 'a missing key is the key "undefined"',
    store: TakesUndefinedForAKey,
    fails: ["A record without a key never meets another"],
  },
  {
    name: "get finds by prefix",
    store: FindsByPrefix,
    fails: ["The record; `null` when it does not exist, or has expired"],
  },
];
