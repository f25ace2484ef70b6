import { NOW } from "./record.js";

/** The database's clock, whole epoch milliseconds. */
export const READ_CLOCK: string = `SELECT floor(${NOW}) AS now`;
