/** Every statement, prepared once. Parameters are numbered as the columns come. */
import type { Database, Statement } from "./driver.js";

/** A payload, from the task's row or from its own. */
const payload = (n: number, column: string): string =>
  `CASE WHEN apart & ${1 << n} THEN (SELECT json FROM payloads WHERE id = 4 * seq + ${n}) ELSE ${column} END`;

const RECORD = `
  seq, head, apart,
  ${payload(0, "arguments")} AS arguments,
  ${payload(1, "outcome")} AS outcome,
  ${payload(2, "partial_output")} AS partialOutput,
  ${payload(3, "checkpoint")} AS checkpoint
`;

export interface Statements {
  /** Kept within reach for as long as a statement is: a driver may crash on a statement whose database was collected. */
  database: Database;
  begin: Statement;
  commit: Statement;
  rollback: Statement;
  /** task id, owner, key, created at, expires at, head, the payloads in the row, apart → no change when the id or the key is taken. */
  insert: Statement;
  /** id, json. */
  putPayload: Statement;
  /** id. */
  dropPayload: Statement;
  /** task id, now → the whole record, read as of one moment. */
  byId: Statement;
  /** owner, key, now → the same. */
  byKey: Statement;
  /** task id, owner, created at, version, now, head, the payloads in the row, apart, written → seq, if the record still is that one. */
  change: Statement;
  /** The same, and expires at. */
  finish: Statement;
  /** task id, now → a row if there is such a task. */
  exists: Statement;
  /** task id, owner, key, now → removes what has expired and is in the way of a create. */
  removeExpired: Statement;
  /** now, limit → seq of expired tasks, the longest expired first. */
  expired: Statement;
  /** seq. */
  remove: Statement;
  /** Changes when another connection has written. */
  dataVersion: Statement;
  list: ListStatements;
}

/** created at and task id to go on after, now, limit, and the owner if there is one → heads, newest first. */
export interface ListStatements {
  all: Statement;
  unfinished: Statement;
  ofOwner: Statement;
  unfinishedOfOwner: Statement;
}

const LIVE = (now: string): string => `(expires_at IS NULL OR expires_at > ${now})`;

/** One statement reads nothing of a payload but what stands in the row, and that only to leave it there. */
const change = (alsoSet = ""): string => {
  const column = (n: number, name: string): string => `${name} = iif(?12 & ${1 << n}, ?${7 + n}, ${name})`;
  const columns = ["arguments", "outcome", "partial_output", "checkpoint"].map((name, n) => column(n, name));
  return `
    UPDATE tasks SET head = ?6, ${columns.join(", ")}, apart = (apart & ~?12) | ?11 ${alsoSet}
    WHERE task_id = ?1 AND owner = ?2 AND created_at = ?3 AND head ->> '$.version' = ?4 AND ${LIVE("?5")}
    RETURNING seq
  `;
};

export function prepareStatements(database: Database): Statements {
  const list = (filter: string): Statement =>
    database.prepare(`
      SELECT head FROM tasks
      WHERE (created_at, task_id) < (?1, ?2) AND ${filter}
      ORDER BY created_at DESC, task_id DESC LIMIT ?4
    `);
  return {
    database,
    // The lock is taken at the start: a transaction that reads first and writes later fails at once when another
    // process wrote in between, whatever the time-out says.
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    insert: database.prepare(`
      INSERT INTO tasks (
        task_id, owner, idempotency_key, created_at, expires_at, head, arguments, outcome, partial_output, checkpoint, apart
      ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    `),
    putPayload: database.prepare(`
      INSERT INTO payloads (id, json) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json
    `),
    dropPayload: database.prepare("DELETE FROM payloads WHERE id = ?"),
    byId: database.prepare(`SELECT ${RECORD} FROM tasks WHERE task_id = ?1 AND ${LIVE("?2")}`),
    byKey: database.prepare(`SELECT ${RECORD} FROM tasks WHERE owner = ?1 AND idempotency_key = ?2 AND ${LIVE("?3")}`),
    change: database.prepare(change()),
    // The indexes on expiry are left alone by every change but the last.
    finish: database.prepare(change(", expires_at = ?13")),
    exists: database.prepare(`SELECT 1 FROM tasks WHERE task_id = ?1 AND ${LIVE("?2")}`),
    removeExpired: database.prepare(`
      DELETE FROM tasks WHERE (task_id = ?1 OR (owner = ?2 AND idempotency_key = ?3)) AND expires_at <= ?4
    `),
    expired: database.prepare("SELECT seq FROM tasks WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"),
    remove: database.prepare("DELETE FROM tasks WHERE seq = ?"),
    dataVersion: database.prepare("PRAGMA store.data_version"),
    list: {
      all: list(LIVE("?3")),
      // What is unfinished has not expired: ?3 is given, as to the others, and not asked for.
      unfinished: list("expires_at IS NULL"),
      ofOwner: list(`owner = ?5 AND ${LIVE("?3")}`),
      unfinishedOfOwner: list("owner = ?5 AND expires_at IS NULL"),
    },
  };
}
