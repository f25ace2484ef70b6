import { EXPIRE } from "./expire.js";
import { type Script, script } from "./script.js";

/**
 * Changes a record, if it still has the version that the caller read.
 *
 * Keys: 1 the record, 2 unfinished tasks, 3 expiry. When the task finishes it also sets the end of its idempotency
 * key, whose name it finds in the record.
 *
 * Arguments: 1 expected version, 2 next version, 3 when it finished or "", 4 how many fields to read back, then their
 * names; how many fields to remove, then their names; then names and values of the fields to set.
 *
 * Answers the fields to read back, as they are after the change; the text "conflict" when the version has moved on,
 * "none" when there is no such task. Of any number of runs from one version, one changes the record. All fields
 * change together; what is not named is neither read nor written.
 */
export const UPDATE: Script = script(`${EXPIRE}
local version = redis.call('HGET', KEYS[1], 'version')
if not version then return 'none' end
if version ~= ARGV[1] then return 'conflict' end
local read_from, read_to = 5, 4 + ARGV[4]
local removed_from, removed_to = read_to + 2, read_to + 1 + ARGV[read_to + 1]
redis.call('HSET', KEYS[1], 'version', ARGV[2], unpack(ARGV, removed_to + 1))
if removed_to >= removed_from then redis.call('HDEL', KEYS[1], unpack(ARGV, removed_from, removed_to)) end
local fields = redis.call('HMGET', KEYS[1], unpack(ARGV, read_from, read_to))
if ARGV[3] ~= '' then expire(KEYS[1], KEYS[2], KEYS[3], ARGV[3]) end
return fields
`);
