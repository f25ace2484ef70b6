/**
 * Every statement that the store sends once it is open, each with its promise. Each is one statement in a
 * transaction of its own, so what it promises holds however many processes run it at once (READ COMMITTED).
 */
import { PAYLOADS, type Payload } from "@claimcheck/core";
import { columnOf } from "./rows.js";

/** The database's clock, epoch milliseconds: one clock decides expiry, whatever the hosts' clocks say. */
const NOW = "(extract(epoch FROM statement_timestamp()) * 1000)::double precision";
const LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;
const RECORD = ["head", ...PAYLOADS.map(columnOf)].join(", ");

const INSERT = `
  INSERT INTO {schema}.tasks (task_id, owner, idempotency_key, created_at, expires_at, version, status, head,
    arguments, outcome, partial_output, checkpoint)
  SELECT $1::text, $2::text, $3::text, $4::double precision, $5::double precision, $6::double precision, $7::text,
    $8::text, $9::text, $10::text, $11::text, $12::text`;

/**
 * Stores a record without an idempotency key.
 *
 * Parameters: 1 task id, 2 owner, 3 key, 4 created at, 5 expires at, 6 version, 7 status, 8 head, 9 arguments,
 * 10 outcome, 11 partial output, 12 checkpoint.
 *
 * Answers one row; raises a violation of `tasks_pkey` when the id is taken.
 */
export const CREATE: string = `${INSERT} RETURNING 1`;

/**
 * Stores a record, if no live record holds its owner's key. Parameters as of {@link CREATE}.
 *
 * Answers one row when it stored the record and none when a live record holds the key; raises a violation of
 * `tasks_pkey` when the id is taken. An expired holder loses its key in the same statement: of any number of
 * concurrent runs with one key, the unique index lets one insert.
 */
export const CREATE_WITH_KEY: string = `
  WITH freed AS (
    UPDATE {schema}.tasks SET idempotency_key = NULL
    WHERE owner = $2 AND idempotency_key = $3 AND expires_at <= ${NOW}
    RETURNING 1
  )
  ${INSERT} FROM (SELECT count(*) FROM freed) AS once_it_is_freed
  ON CONFLICT (owner, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
  RETURNING 1`;

/** The live record of a task id. Parameters: 1 task id. */
export const GET: string = `SELECT ${RECORD} FROM {schema}.tasks WHERE task_id = $1 AND ${LIVE}`;

/** The live record that holds a key. Parameters: 1 owner, 2 key. */
export const FIND_BY_KEY: string = `
  SELECT ${RECORD} FROM {schema}.tasks WHERE owner = $1 AND idempotency_key = $2 AND ${LIVE}`;

/** One row if a live task has the id. Parameters: 1 task id. */
export const EXISTS: string = `SELECT 1 FROM {schema}.tasks WHERE task_id = $1 AND ${LIVE}`;

/**
 * The statement that writes a changed record, and of its payloads those that are named.
 *
 * Parameters: 1 task id, 2 expected version, 3 created at (an id that is used again after its task is gone was created
 * at another instant), 4 expires at, 5 next version, 6 status, 7 head, 8… the payloads in the order given.
 *
 * Answers one row when it wrote, and none when the record has moved on or is not there. Of concurrent runs from one
 * version the row's lock lets one through; the others find another version. What is not named is left as it is.
 */
export function updateStatement(payloads: readonly Payload[]): string {
  const shape = payloads.join();
  let statement = updateStatements.get(shape);
  if (statement === undefined) {
    const assignments = payloads.map((payload, at) => `, ${columnOf(payload)} = $${at + 8}`);
    statement = `
  UPDATE {schema}.tasks SET expires_at = $4, version = $5, status = $6, head = $7${assignments.join("")}
  WHERE task_id = $1 AND version = $2 AND created_at = $3 AND ${LIVE}
  RETURNING 1`;
    updateStatements.set(shape, statement);
  }
  return statement;
}

/** At most one for each set of payloads. */
const updateStatements = new Map<string, string>();

export interface ListShape {
  owner: boolean;
  cursor: boolean;
  unfinished: boolean;
}

/**
 * The statement of a listing: heads of live records, newest first in the total order of creation and id.
 *
 * Parameters: 1 how many; then the owner, if asked for; then `createdAt` and task id of the position to go on from.
 * What it costs grows with the page, not with what is retained: each shape has an index in this order.
 */
export function listStatement(shape: ListShape): string {
  const conditions = [shape.unfinished ? "expires_at IS NULL" : LIVE];
  let parameter = 2;
  if (shape.owner) conditions.push(`owner = $${parameter++}`);
  if (shape.cursor) conditions.push(`(created_at, task_id) < ($${parameter++}::double precision, $${parameter}::text)`);
  return `
  SELECT head FROM {schema}.tasks
  WHERE ${conditions.join(" AND ")}
  ORDER BY created_at DESC, task_id DESC LIMIT $1`;
}

/**
 * Removes expired records, and thereby frees their keys.
 *
 * Parameters: 1 how many at the most. Answers how many there were. Concurrent runs pass over each other's rows
 * instead of waiting, so each row is removed and counted once.
 */
export const SWEEP: string = `
  WITH expired AS (
    SELECT task_id FROM {schema}.tasks WHERE expires_at <= ${NOW}
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM {schema}.tasks USING expired WHERE tasks.task_id = expired.task_id RETURNING 1
  )
  SELECT count(*)::integer AS removed FROM gone`;

/** The database's clock, whole epoch milliseconds. */
export const READ_CLOCK: string = `SELECT floor(${NOW}) AS now`;
