/**
 * Every statement that the store sends once it is open, each with its promise. Each is one statement in a
 * transaction of its own, so what it promises holds however many processes run it at once (READ COMMITTED).
 */
import { type ChangingMember, isChangingMember, isPayloadMember } from "@claimcheck/core";
import { CHANGING_COLUMNS, OUTCOME_KIND, PAYLOAD_COLUMNS } from "./rows.js";

/** The database's clock, epoch milliseconds: one clock decides expiry, whatever the hosts' clocks say. */
const NOW = "(extract(epoch FROM statement_timestamp()) * 1000)::double precision";
const LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

const SUMMARY_COLUMNS = ["version", ...Object.values(CHANGING_COLUMNS), "outcome_kind", "fixed"];
const ALL_PAYLOADS = Object.values(PAYLOAD_COLUMNS);

function columns(alias: string, names: readonly string[]): string {
  return names.map((name) => `${alias}.${name}`).join(", ");
}

/**
 * Stores a record, if no live record holds its owner's key.
 *
 * Parameters: 1 task id, 2 owner, 3 key or null, 4 created at, 5 ttl, 6 version, 7 status, 8 status message,
 * 9 last updated, 10 finished or null, 11 outcome kind, 12 progress, 13 questions, 14 attempt, 15 cancellation,
 * 16 fixed part, 17 arguments, 18 outcome, 19 partial output, 20 checkpoint.
 *
 * Answers one row when it stored the record and none when a live record holds the key; raises a violation of
 * `tasks_pkey` when the id is taken. An expired holder loses its key in the same statement: of any number of
 * concurrent runs with one key, the unique index lets one insert. Records and payloads appear together.
 */
export const CREATE: string = `
  WITH freed AS (
    UPDATE {schema}.tasks SET idempotency_key = NULL
    WHERE owner = $2 AND idempotency_key = $3 AND expires_at <= ${NOW}
    RETURNING 1
  ), created AS (
    INSERT INTO {schema}.tasks (task_id, owner, idempotency_key, created_at, ttl_ms, version, status, status_message,
      last_updated_at, finished_at, expires_at, outcome_kind, progress, questions, attempt, cancellation, fixed)
    SELECT $1::text, $2::text, $3::text, $4::double precision, $5::double precision, $6::double precision, $7::text,
      $8::text, $9::double precision, $10::double precision, $10::double precision + $5::double precision, $11::text,
      $12::text, $13::text, $14::text, $15::text, $16::text
    FROM (SELECT count(*) FROM freed) AS once_it_is_freed
    ON CONFLICT (owner, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING task_id
  )
  INSERT INTO {schema}.payloads (task_id, arguments, outcome, partial_output, checkpoint)
  SELECT task_id, $17::text, $18::text, $19::text, $20::text FROM created
  RETURNING task_id`;

const WHOLE_RECORD = `
  SELECT ${columns("t", SUMMARY_COLUMNS)}, ${columns("p", ALL_PAYLOADS)}
  FROM {schema}.tasks t LEFT JOIN {schema}.payloads p USING (task_id)`;

/** The live record of a task id. Parameters: 1 task id. */
export const GET: string = `${WHOLE_RECORD} WHERE t.task_id = $1 AND ${LIVE}`;

/** The live record that holds a key. Parameters: 1 owner, 2 key. */
export const FIND_BY_KEY: string = `${WHOLE_RECORD} WHERE t.owner = $1 AND t.idempotency_key = $2 AND ${LIVE}`;

/** One row if a live task has the id. Parameters: 1 task id. */
export const EXISTS: string = `SELECT 1 FROM {schema}.tasks WHERE task_id = $1 AND ${LIVE}`;

/**
 * The statement that changes `members` of a record, if it still has the version that the caller read.
 *
 * Parameters: 1 task id, 2 expected version, then the value of each member in the order given; null removes it.
 *
 * Answers the changed record, but for those payloads that are changed, which the caller has; no row when the version
 * has moved on or the task is not there. Of concurrent runs from one version the row's lock lets one through; the
 * others find another version. Payloads are written only when one is among the members, with the rest or not at all.
 */
export function updateStatement(members: readonly string[]): string {
  const shape = members.join();
  let statement = updateStatements.get(shape);
  if (statement === undefined) {
    statement = buildUpdate(members);
    updateStatements.set(shape, statement);
  }
  return statement;
}

/** The engine makes a dozen kinds of changes, over and over. */
const updateStatements = new Map<string, string>();

function buildUpdate(members: readonly string[]): string {
  const assignments = ["version = version + 1"];
  const payloads: string[] = [];
  members.forEach((member, index) => {
    const parameter = `$${index + 3}`;
    if (isPayloadMember(member)) payloads.push(`${PAYLOAD_COLUMNS[member]} = ${parameter}::text`);
    else if (isChangingMember(member)) assignments.push(...changingAssignments(member, parameter));
    else if (member === OUTCOME_KIND) assignments.push(`outcome_kind = ${parameter}`);
  });
  const unchanged = Object.entries(PAYLOAD_COLUMNS).flatMap(([member, name]) => (members.includes(member) ? [] : name));
  const written = `, written AS (
    UPDATE {schema}.payloads SET ${payloads.join(", ")}
    FROM changed WHERE payloads.task_id = changed.task_id)`;
  return `
  WITH changed AS (
    UPDATE {schema}.tasks SET ${assignments.join(", ")}
    WHERE task_id = $1 AND version = $2 AND ${LIVE}
    RETURNING task_id, ${SUMMARY_COLUMNS.join(", ")}
  )${payloads.length === 0 ? "" : written}
  SELECT ${columns("c", SUMMARY_COLUMNS)}, ${columns("p", unchanged)}
  FROM changed c LEFT JOIN {schema}.payloads p USING (task_id)`;
}

function changingAssignments(member: ChangingMember, parameter: string): string[] {
  const assignment = `${CHANGING_COLUMNS[member]} = ${parameter}`;
  return member === "finishedAt" ? [assignment, `expires_at = ${parameter}::double precision + ttl_ms`] : [assignment];
}

export interface ListShape {
  owner: boolean;
  cursor: boolean;
  unfinished: boolean;
}

/**
 * The statement of a listing: live records without payloads, newest first in the total order of creation and id.
 *
 * Parameters: 1 how many; then the owner, if asked for; then `createdAt` and task id of the position to go on from.
 * What it costs grows with the page, not with what is retained: each shape has an index in this order.
 */
export function listStatement(shape: ListShape): string {
  const conditions = [LIVE];
  let parameter = 2;
  if (shape.owner) conditions.push(`owner = $${parameter++}`);
  if (shape.unfinished) conditions.push("finished_at IS NULL");
  if (shape.cursor) conditions.push(`(created_at, task_id) < ($${parameter++}::double precision, $${parameter}::text)`);
  return `
  SELECT ${SUMMARY_COLUMNS.join(", ")} FROM {schema}.tasks
  WHERE ${conditions.join(" AND ")}
  ORDER BY created_at DESC, task_id DESC LIMIT $1`;
}

/**
 * Removes expired records with their payloads, and thereby frees their keys.
 *
 * Parameters: 1 how many at the most. Answers how many there were. Concurrent runs pass over each other's rows
 * instead of waiting, so each row is removed and counted once.
 */
export const SWEEP: string = `
  WITH expired AS (
    SELECT task_id FROM {schema}.tasks WHERE expires_at <= ${NOW}
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM {schema}.tasks USING expired WHERE tasks.task_id = expired.task_id RETURNING tasks.task_id
  ), emptied AS (
    DELETE FROM {schema}.payloads USING gone WHERE payloads.task_id = gone.task_id
  )
  SELECT count(*)::integer AS removed FROM gone`;

/** The database's clock, whole epoch milliseconds. */
export const READ_CLOCK: string = `SELECT floor(${NOW}) AS now`;
