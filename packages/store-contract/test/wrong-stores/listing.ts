import type { ListQuery, TaskPage, TaskRecord, TaskSummary } from "@claimcheck/core";
import { decodeCursor, encodeCursor, TaskError } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class ListsPayloads extends PlainStore {
  protected override shown(record: TaskRecord): TaskSummary {
    return record;
  }
}

class OrdersByInstantAlone extends PlainStore {
  protected override compare(a: TaskRecord, b: TaskRecord): number {
    return a.createdAt - b.createdAt;
  }
}

class OrdersByLastUpdate extends PlainStore {
  protected override compare(a: TaskRecord, b: TaskRecord): number {
    const at = (task: TaskRecord): number => task.lastUpdatedAt ?? task.createdAt;
    return at(a) - at(b) || super.compare(a, b);
  }

  override async list(query: ListQuery): Promise<TaskPage> {
    return listByOffset(query, (all) => super.list(all));
  }
}

class OffsetCursor extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    return listByOffset(query, (all) => super.list(all));
  }
}

/** Pages that count what came before them. */
async function listByOffset(query: ListQuery, listAll: (all: ListQuery) => Promise<TaskPage>): Promise<TaskPage> {
  const { cursor, limit, ...filter } = query;
  const from = cursor === undefined ? 0 : offsetOf(cursor);
  const { tasks } = await listAll({ ...filter, limit: Number.MAX_SAFE_INTEGER });
  const page = tasks.slice(from, from + limit);
  if (from + limit >= tasks.length) return { tasks: page };
  return { tasks: page, nextCursor: encodeCursor({ createdAt: from + limit, taskId: "offset" }) };
}

const offsetOf = (cursor: string): number => decodeCursor(cursor).createdAt;

class CursorNamesATask extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    const { cursor, limit, ...filter } = query;
    if (cursor !== undefined) decodeCursor(cursor);
    const { tasks } = await super.list({ ...filter, limit: Number.MAX_SAFE_INTEGER });
    const at = cursor === undefined ? -1 : tasks.findIndex((task) => encodeCursor(task) === cursor);
    const from = cursor !== undefined && at === -1 ? tasks.length : at + 1;
    const page = tasks.slice(from, from + limit);
    const last = page.at(-1);
    return from + limit >= tasks.length || last === undefined
      ? { tasks: page }
      : { tasks: page, nextCursor: encodeCursor(last) };
  }
}

class LenientCursor extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    try {
      return await super.list(query);
    } catch {
      const { cursor: _bad, ...rest } = query;
      return super.list(rest);
    }
  }
}

class RefusesWithAPlainError extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    return super.list(query).catch((error: unknown) => {
      throw error instanceof TaskError ? new Error(error.message) : error;
    });
  }
}

class OwnersByPrefix extends PlainStore {
  protected override selected({ owner, ...query }: ListQuery): TaskRecord[] {
    return super.selected(query).filter((record) => owner === undefined || record.owner.startsWith(owner));
  }
}

class AbsentOwnerIsNobody extends PlainStore {
  protected override selected(query: ListQuery): TaskRecord[] {
    return super.selected({ ...query, owner: query.owner ?? "owner" });
  }
}

class UnfinishedMeansWorking extends PlainStore {
  protected override selected({ unfinished, ...query }: ListQuery): TaskRecord[] {
    return super.selected(query).filter((record) => unfinished !== true || record.status === "working");
  }
}

class CapsThePage extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    return super.list({ ...query, limit: Math.min(query.limit, 4) });
  }
}

class AlwaysACursor extends PlainStore {
  override async list(query: ListQuery): Promise<TaskPage> {
    const page = await super.list(query);
    const last = page.tasks.at(-1);
    return last === undefined ? page : { ...page, nextCursor: encodeCursor(last) };
  }
}

export const listingMistakes: readonly WrongStore[] = [
  { name: "list carries payloads", store: ListsPayloads, fails: ["Records without their payloads, newest first"] },
  {
    name: "list orders by instant alone",
    store: OrdersByInstantAlone,
    fails: [
      "Expired tasks are left out",
      "The order is total: by `createdAt`, then by `taskId`, both descending",
      "Only this owner's tasks",
      "Absent: everybody's (operators and recovery)",
      "Only tasks that have not finished (recovery)",
      "Absent on the last page",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — also when what the cursor stands on is gone",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — and changes move nothing",
      "Rejects a cursor that it did not make with a `TaskError` of code `invalid_cursor`",
      "A promise that resolves has been made durable, to the degree that the store promises — a cursor outlives a restart",
    ],
  },
  {
    name: "list orders by the last update",
    store: OrdersByLastUpdate,
    fails: [
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — also when what the cursor stands on is gone",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — and changes move nothing",
    ],
  },
  {
    name: "a cursor is an offset",
    store: OffsetCursor,
    fails: [
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile",
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — also when what the cursor stands on is gone",
    ],
  },
  {
    name: "a cursor needs its task",
    store: CursorNamesATask,
    fails: [
      "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile — also when what the cursor stands on is gone",
    ],
  },
  {
    name: "a bad cursor starts again",
    store: LenientCursor,
    fails: ["Rejects a cursor that it did not make with a `TaskError` of code `invalid_cursor`"],
  },
  {
    name: "a bad cursor is some error",
    store: RefusesWithAPlainError,
    fails: ["Rejects a cursor that it did not make with a `TaskError` of code `invalid_cursor`"],
  },
  {
    name: "list matches owners by prefix",
    store: OwnersByPrefix,
    fails: [
      "Keys of different owners never meet",
      "Keys of different owners never meet — whatever characters join or end them",
      "Keys of different owners never meet — nor do two that only look or fold alike",
      "Only this owner's tasks",
    ],
  },
  {
    name: "list without owner is one owner's",
    store: AbsentOwnerIsNobody,
    fails: [
      "A task id that is taken is a rejection and changes nothing — among concurrent creates as well",
      "Records without their payloads, newest first",
      "Absent: everybody's (operators and recovery)",
      "Only tasks that have not finished (recovery)",
    ],
  },
  {
    name: "unfinished means working",
    store: UnfinishedMeansWorking,
    fails: ["Only tasks that have not finished (recovery)"],
  },
  {
    name: "list caps the page",
    store: CapsThePage,
    fails: ["Records without their payloads, newest first", "How many at the most; a whole number of at least 1"],
  },
  { name: "every page carries a cursor", store: AlwaysACursor, fails: ["Absent on the last page"] },
];
