import type { ListQuery, TaskRecord } from "@claimcheck/core";
import { isTerminal } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class GetIgnoresExpiry extends PlainStore {
  override async get(taskId: string): Promise<TaskRecord | null> {
    await this.turn();
    const record = this.backend.records.get(taskId);
    return record === undefined ? null : this.copy(record);
  }
}

class FindByKeyIgnoresExpiry extends PlainStore {
  override async findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    await this.turn();
    const record = this.backend.records.get(this.backend.keys.get(this.keyOf(owner, key)) ?? "");
    return record === undefined ? null : this.copy(record);
  }
}

class ListIgnoresExpiry extends PlainStore {
  protected override selected({ owner, unfinished }: ListQuery): TaskRecord[] {
    const records = [...this.backend.records.values()];
    return records.filter(
      (record) => (owner === undefined || record.owner === owner) && (unfinished !== true || !isTerminal(record)),
    );
  }
}

class ExpiresFromCreation extends PlainStore {
  protected override expired(record: TaskRecord): boolean {
    return record.createdAt + record.ttlMs <= this.backend.clock.now();
  }
}

class ShortTimers extends PlainStore {
  protected override expired(record: TaskRecord): boolean {
    return super.expired(record) || (isTerminal(record) && record.ttlMs > 2 ** 31 - 1);
  }
}

class ZeroMeansForEver extends PlainStore {
  protected override expired(record: TaskRecord): boolean {
    return record.ttlMs !== 0 && super.expired(record);
  }
}

class NeverFreesKeys extends PlainStore {
  protected override holderOf({ owner, idempotencyKey }: TaskRecord): TaskRecord | null {
    if (idempotencyKey === undefined) return null;
    return this.backend.records.get(this.backend.keys.get(this.keyOf(owner, idempotencyKey)) ?? "") ?? null;
  }
}

class SweepLeavesKeys extends PlainStore {
  protected override remove(record: TaskRecord): void {
    this.backend.records.delete(record.taskId);
  }

  protected override holderOf(record: TaskRecord): TaskRecord | null {
    const key = this.keyOf(record.owner, record.idempotencyKey ?? "\ud800 none");
    const taskId = this.backend.keys.get(key);
    if (taskId !== undefined && !this.backend.records.has(taskId)) throw new Error("The key's task is missing.");
    return super.holderOf(record);
  }
}

class SweepFreesByKeyAlone extends PlainStore {
  protected override remove(record: TaskRecord): void {
    this.backend.records.delete(record.taskId);
    this.backend.keys.delete(this.keyOf(record.owner, record.idempotencyKey ?? "\ud800 none"));
  }
}

class SweepsWithoutLimit extends PlainStore {
  override async sweep(_limit: number): Promise<number> {
    return super.sweep(Number.POSITIVE_INFINITY);
  }
}

class SweepsTheFinished extends PlainStore {
  override async sweep(limit: number): Promise<number> {
    await this.turn();
    const finished = [...this.backend.records.values()].filter((record) => isTerminal(record)).slice(0, limit);
    for (const record of finished) this.remove(record);
    return finished.length;
  }
}

class SweepCountsTwice extends PlainStore {
  override async sweep(limit: number): Promise<number> {
    const expired = [...this.backend.records.values()].filter((record) => this.expired(record)).slice(0, limit);
    await this.turn();
    for (const record of expired) this.remove(record);
    return expired.length;
  }
}

class AnotherClock extends PlainStore {
  async now(): Promise<number> {
    return 1_767_225_600_000;
  }
}

export const retentionMistakes: readonly WrongStore[] = [
  {
    name: "get ignores expiry",
    store: GetIgnoresExpiry,
    fails: [
      "Answers `null` when the task does not exist, or has expired",
      "The record; `null` when it does not exist, or has expired — once its ttl is over, although nothing has been swept",
      "The record; `null` when it does not exist, or has expired — a ttl of 0 is over at the end, and never means for ever",
      "The clock that expiry and leases are decided by, epoch milliseconds",
      "A key whose task has expired is free",
      "A promise that resolves has been made durable, to the degree that the store promises — retention goes on",
    ],
  },
  {
    name: "findByKey ignores expiry",
    store: FindByKeyIgnoresExpiry,
    fails: [
      "The live or finished record that holds the key; `null` when none does, or it has expired",
      "The record; `null` when it does not exist, or has expired — a ttl of 0 is over at the end, and never means for ever",
      "A promise that resolves has been made durable, to the degree that the store promises — retention goes on",
    ],
  },
  {
    name: "list ignores expiry",
    store: ListIgnoresExpiry,
    fails: [
      "A key whose task has expired is free",
      "A key whose task has expired is free — for one of those who ask for it at once",
      "Expired tasks are left out",
    ],
  },
  {
    name: "a ttl counts from creation",
    store: ExpiresFromCreation,
    fails: [
      "The record; `null` when it does not exist, or has expired — a ttl counts from the end: what runs never expires",
      "The record; `null` when it does not exist, or has expired — a ttl of 0 is over at the end, and never means for ever",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — also when what the cursor stands on is gone",
      "A promise that resolves has been made durable, to the degree that the store promises — retention goes on",
    ],
  },
  {
    name: "a long ttl overflows",
    store: ShortTimers,
    fails: ["The record; `null` when it does not exist, or has expired — a ttl beyond 2^31 ms is not cut short"],
  },
  {
    name: "a ttl of 0 means for ever",
    store: ZeroMeansForEver,
    fails: [
      "The record; `null` when it does not exist, or has expired — a ttl of 0 is over at the end, and never means for ever",
    ],
  },
  {
    name: "create never frees a key",
    store: NeverFreesKeys,
    fails: [
      "A key whose task has expired is free",
      "A key whose task has expired is free — and stays with its new holder when the old one is swept",
      "A key whose task has expired is free — for one of those who ask for it at once",
      "A promise that resolves has been made durable, to the degree that the store promises — retention goes on",
      "Methods are called as methods and may be called at the same time, from several processes on one store — the sweep of one leaves what the other made",
    ],
  },
  {
    name: "sweep leaves keys behind",
    store: SweepLeavesKeys,
    fails: [
      "A key whose task has expired is free — after a sweep as before it",
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many",
    ],
  },
  {
    name: "sweep frees the key of its new holder",
    store: SweepFreesByKeyAlone,
    fails: [
      "A key whose task has expired is free — and stays with its new holder when the old one is swept",
      "Methods are called as methods and may be called at the same time, from several processes on one store — the sweep of one leaves what the other made",
    ],
  },
  {
    name: "sweep knows no limit",
    store: SweepsWithoutLimit,
    fails: [
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many",
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many — each once, however many sweep",
    ],
  },
  {
    name: "sweep takes finished tasks",
    store: SweepsTheFinished,
    fails: [
      "The record; `null` when it does not exist, or has expired — a ttl counts from the end: what runs never expires",
      "The record; `null` when it does not exist, or has expired — a ttl beyond 2^31 ms is not cut short",
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many",
    ],
  },
  {
    name: "sweep counts what another removed",
    store: SweepCountsTwice,
    fails: [
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many — each once, however many sweep",
    ],
  },
  {
    name: "now tells another clock's time",
    store: AnotherClock,
    fails: ["The clock that expiry and leases are decided by, epoch milliseconds"],
  },
];
