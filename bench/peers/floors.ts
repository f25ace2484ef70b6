/**
 * The bare client of each store's back end: the same JSON of a task's creation and of its completion, in one write each,
 * to a table or key that has no index beside the task's id, over as many connections and as durable. What a store does
 * beside that (idempotency keys, listings, retention, compare-and-set) is what it is measured for.
 */
import type { TaskStore } from "@claimcheck/core";
import { loadIoredis, loadPg, loadSqlite } from "./clients.js";
import type { TaskWrites } from "./records.js";

/** Creates and completes every task, `ways` at a time. */
export type WriteAll = (tasks: readonly TaskWrites[], ways: number) => Promise<void>;

export interface Floor {
  writeAll: WriteAll;
  close(): Promise<void>;
}

async function inWays(
  tasks: readonly TaskWrites[],
  ways: number,
  write: (task: TaskWrites) => Promise<void>,
): Promise<void> {
  let next = 0;
  const way = async (): Promise<void> => {
    while (next < tasks.length) await write(tasks[next++] as TaskWrites);
  };
  await Promise.all(Array.from({ length: ways }, way));
}

/** The store itself. */
export function throughStore(store: TaskStore): WriteAll {
  return (tasks, ways) =>
    inWays(tasks, ways, async ({ task, completion }) => {
      await store.create(task);
      const completed = await store.update(task.taskId, 1, completion);
      if (completed === null || completed === "conflict") throw new Error(`not completed: ${completed}`);
    });
}

interface Texts {
  head: string;
  payload: string;
}

/** What is kept of a new task: the record without its arguments, and those. */
function textsOf({ task: { arguments: payload, ...head } }: TaskWrites): Texts {
  return { head: JSON.stringify(head), payload: JSON.stringify(payload) };
}

/** What its completion writes: the record anew, and the outcome. */
function completedTextsOf({ task: { arguments: _arguments, ...head }, completion }: TaskWrites): Texts {
  const { outcome, ...changes } = completion;
  return { head: JSON.stringify({ ...head, ...changes, version: 2 }), payload: JSON.stringify(outcome) };
}

const CREATE = "INSERT INTO floor (task_id, version, head, arguments) VALUES ($1, 1, $2, $3)";
const COMPLETE =
  "UPDATE floor SET version = 2, expires_at = $2, head = $3, outcome = $4 WHERE task_id = $1 AND version = 1";
const TABLE = `CREATE TABLE floor (task_id TEXT PRIMARY KEY, version INTEGER NOT NULL, expires_at DOUBLE PRECISION,
  head TEXT NOT NULL, arguments TEXT NOT NULL, outcome TEXT)`;

export async function postgresFloor(url: string, poolSize: number): Promise<Floor> {
  const { Pool } = loadPg();
  const pool = new Pool({ connectionString: url, max: poolSize });
  await pool.query(TABLE);
  const write = async (writes: TaskWrites): Promise<void> => {
    const { taskId } = writes.task;
    const created = textsOf(writes);
    await pool.query({ name: "create", text: CREATE, values: [taskId, created.head, created.payload] });
    const completed = completedTextsOf(writes);
    const values = [taskId, writes.completion.finishedAt, completed.head, completed.payload];
    const { rowCount } = await pool.query({ name: "complete", text: COMPLETE, values });
    if (rowCount !== 1) throw new Error("not completed");
  };
  return { writeAll: (tasks, ways) => inWays(tasks, ways, write), close: () => pool.end() };
}

/** Keys: the record, the listings it goes to. Arguments: task id, createdAt, fields. */
const CREATE_SCRIPT = `
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
  for at = 2, 4 do redis.call('ZADD', KEYS[at], ARGV[2], ARGV[1]) end`;

/** Keys: the record, the unfinished tasks, the expiries. Arguments: task id, when it expires, fields. */
const COMPLETE_SCRIPT = `
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], ARGV[2])`;

/**
 * What a database adds to its indexes by itself, a client of Redis writes: where the task stands in its owner's listing,
 * in everybody's and among the unfinished, and when it is to be removed. One script a write, which writes and no more.
 */
export async function redisFloor(url: string): Promise<Floor> {
  const { Redis } = loadIoredis();
  const redis = new Redis(url);
  const [createScript, completeScript] = (await Promise.all(
    [CREATE_SCRIPT, COMPLETE_SCRIPT].map((lua) => redis.call("SCRIPT", "LOAD", lua)),
  )) as [string, string];
  const write = async (writes: TaskWrites): Promise<void> => {
    const { taskId, owner, createdAt, ttlMs } = writes.task;
    const record = `floor:task:${taskId}`;
    const created = textsOf(writes);
    const keys = [record, `floor:owner:${owner}`, "floor:all", "floor:unfinished"];
    const fields = ["version", "1", "head", created.head, "arguments", created.payload];
    await redis.call("EVALSHA", createScript, 4, ...keys, taskId, createdAt, ...fields);
    const completed = completedTextsOf(writes);
    const expiresAt = (writes.completion.finishedAt as number) + ttlMs;
    const changed = ["version", "2", "head", completed.head, "outcome", completed.payload];
    await redis.call(
      "EVALSHA",
      completeScript,
      3,
      record,
      "floor:unfinished",
      "floor:expiry",
      taskId,
      expiresAt,
      ...changed,
    );
  };
  return { writeAll: (tasks, ways) => inWays(tasks, ways, write), close: async () => void redis.disconnect() };
}

/** Calls of the driver block, so `ways` at a time means: as many in one transaction, which is the most that a store could share out. */
export async function sqliteFloor(file: string): Promise<Floor> {
  const { DatabaseSync } = await loadSqlite();
  const database = new DatabaseSync(file);
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${TABLE.replaceAll("DOUBLE PRECISION", "REAL")}`,
  );
  const create = database.prepare(CREATE.replaceAll("$", "?"));
  const complete = database.prepare(COMPLETE.replaceAll("$", "?"));
  const transact = (batch: readonly TaskWrites[], write: (task: TaskWrites) => void): void => {
    database.exec("BEGIN IMMEDIATE");
    for (const task of batch) write(task);
    database.exec("COMMIT");
  };
  return {
    writeAll: async (tasks, ways) => {
      for (let at = 0; at < tasks.length; at += ways) {
        const batch = tasks.slice(at, at + ways);
        transact(batch, (writes) => {
          const { head, payload } = textsOf(writes);
          create.run(writes.task.taskId, head, payload);
        });
        transact(batch, (writes) => {
          const { head, payload } = completedTextsOf(writes);
          complete.run(writes.task.taskId, writes.completion.finishedAt, head, payload);
        });
      }
    },
    close: async () => database.close(),
  };
}
