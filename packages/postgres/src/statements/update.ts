import type { Payload } from "@claimcheck/core";
import { columnOf } from "../rows.js";
import { LIVE } from "./record.js";

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
