import { type Script, script } from "./script.js";

/**
 * Answers the server's clock, whole epoch milliseconds. A script, as on a cluster the command alone would ask any
 * node, and only the clock of the one that holds the tasks decides.
 *
 * Keys: 1 any of the store's.
 */
export const READ_CLOCK: Script = script(`
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
`);
