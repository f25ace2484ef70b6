import { LIVE } from "./record.js";

/** One row if a live task has the id. Parameters: 1 task id. */
export const EXISTS: string = `SELECT 1 FROM {schema}.tasks WHERE task_id = $1 AND ${LIVE}`;
