import { LIVE, RECORD } from "./record.js";

/** The live record that holds a key. Parameters: 1 owner, 2 key. */
export const FIND_BY_KEY: string = `
  SELECT ${RECORD} FROM {schema}.tasks WHERE owner = $1 AND idempotency_key = $2 AND ${LIVE}`;
