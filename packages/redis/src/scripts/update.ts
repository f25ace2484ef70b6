import { EXPIRE } from "./expire.js";
import { type Script, script } from "./script.js";

/**
 * Writes fields of a record, if it still is what the caller made them from.
 *
 * Keys: 1 the record, 2 unfinished tasks, 3 expiry. When the task finishes it also sets the end of its idempotency
 * key, whose name it finds in the record.
 *
 * Arguments: 1 expected version, 2 expected place (an id that is used again after its task is gone has another one),
 * 3 when it finished or "", 4… names and values of the fields, the next version among them.
 *
 * Answers "written"; "conflict" when the record has moved on; "gone" when there is no such task. Of any number of
 * runs from one version, one writes. All fields change together; what is not named is neither read nor written.
 */
export const UPDATE: Script = script(`${EXPIRE}
local is = redis.call('HMGET', KEYS[1], 'version', 'place', 'ttl', 'holder')
if not is[1] then return 'gone' end
if is[1] ~= ARGV[1] or is[2] ~= ARGV[2] then return 'conflict' end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
if ARGV[3] ~= '' then expire(KEYS[1], KEYS[2], KEYS[3], ARGV[3], is[2], is[3], is[4]) end
return 'written'
`);
