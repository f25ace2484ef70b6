import { LIVE } from "./record.js";

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
