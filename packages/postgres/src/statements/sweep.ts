import { NOW } from "./record.js";

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
