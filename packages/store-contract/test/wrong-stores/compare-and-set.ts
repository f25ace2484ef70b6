import type { TaskChanges, TaskRecord } from "@claimcheck/core";
import { applyChanges } from "@claimcheck/core";
import { PlainStore, type Updated } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class NoCompareAndSet extends PlainStore {
  override async update(taskId: string, _version: number, changes: TaskChanges): Promise<Updated> {
    return super.update(taskId, this.backend.records.get(taskId)?.version ?? 0, changes);
  }
}

class ChecksVersionThenWrites extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const record = await this.get(taskId);
    if (record === null || record.version !== version) return record === null ? null : "conflict";
    await this.turn();
    const next = this.copy(applyChanges(record, changes));
    this.backend.records.set(taskId, next);
    return this.copy(next);
  }
}

class AcceptsLaterVersions extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const current = this.backend.records.get(taskId)?.version ?? 0;
    return super.update(taskId, Math.min(version, current), changes);
  }
}

class DropsErrorData extends PlainStore {
  protected override copy<T>(value: T): T {
    const copy = super.copy(value) as { outcome?: { error?: { data?: unknown } } };
    delete copy.outcome?.error?.data;
    return copy as T;
  }
}

class KeepsUndefinedMembers extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    return super.update(taskId, version, this.copy(changes));
  }
}

class ReplacesInsteadOfMerging extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    return super.update(taskId, version, { progress: undefined, checkpoint: undefined, ...changes });
  }
}

class WritesMemberByMember extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const { outcome, ...rest } = changes;
    const first = await super.update(taskId, version, rest);
    if (outcome === undefined || first === null || first === "conflict") return first;
    await this.turn();
    const second = this.copy({ ...first, outcome } as TaskRecord);
    this.backend.records.set(taskId, second);
    return this.copy(second);
  }
}

class UpdatesTheExpired extends PlainStore {
  override async update(taskId: string, version: number, changes: TaskChanges): Promise<Updated> {
    const record = this.backend.records.get(taskId);
    if (record === undefined || !this.expired(record)) return super.update(taskId, version, changes);
    return record.version === version ? this.copy(applyChanges(record, changes)) : "conflict";
  }
}

class KeysSeeNoMessage extends PlainStore {
  override async findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    const record = await super.findByKey(owner, key);
    delete record?.statusMessage;
    return record;
  }
}

export const compareAndSetMistakes: readonly WrongStore[] = [
  {
    name: "findByKey leaves out the message",
    store: KeysSeeNoMessage,
    fails: [
      "Changes a record, if it still has the version that the caller read",
      "Methods are called as methods and may be called at the same time, from several processes on one store",
    ],
  },
  {
    name: "update compares nothing",
    store: NoCompareAndSet,
    fails: [
      'Answers `"conflict"` when the version has moved on, and changes nothing',
      "A promise that resolves has been made durable, to the degree that the store promises — versions go on where they were",
      "Methods are called as methods and may be called at the same time, from several processes on one store",
    ],
  },
  {
    name: "update compares, then writes",
    store: ChecksVersionThenWrites,
    fails: [
      "Of any number of concurrent updates from one version, one wins",
      "Of any number of concurrent updates from one version, one wins — so none that answered a record is lost",
      "Methods are called as methods and may be called at the same time, from several processes on one store — of two updates one wins",
    ],
  },
  {
    name: "update accepts a version that is yet to come",
    store: AcceptsLaterVersions,
    fails: [
      'Answers `"conflict"` when the version has moved on, and changes nothing',
      "A promise that resolves has been made durable, to the degree that the store promises — versions go on where they were",
    ],
  },
  {
    name: "an error's data is dropped",
    store: DropsErrorData,
    fails: ["Answers the changed record; its version is one higher"],
  },
  {
    name: "update removes nothing",
    store: KeepsUndefinedMembers,
    fails: [
      "Answers the changed record; its version is one higher",
      "A member that is `undefined` in `changes` is removed; a member that is not there is left as it is",
      "All members of one update become visible together",
    ],
  },
  {
    name: "update replaces instead of merging",
    store: ReplacesInsteadOfMerging,
    fails: [
      "Answers the changed record; its version is one higher",
      "A member that is `undefined` in `changes` is removed; a member that is not there is left as it is",
    ],
  },
  {
    name: "update writes in two steps",
    store: WritesMemberByMember,
    fails: ["All members of one update become visible together"],
  },
  {
    name: "update reaches expired tasks",
    store: UpdatesTheExpired,
    fails: ["Answers `null` when the task does not exist, or has expired"],
  },
];
