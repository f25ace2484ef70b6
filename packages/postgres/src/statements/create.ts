import { NOW } from "./record.js";

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
