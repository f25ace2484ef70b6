import { LIVE, RECORD } from "./record.js";

/** The live record of a task id. Parameters: 1 task id. */
export const GET: string = `SELECT ${RECORD} FROM {schema}.tasks WHERE task_id = $1 AND ${LIVE}`;
