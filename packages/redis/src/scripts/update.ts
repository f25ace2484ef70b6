import { EXPIRE } from "./expire.js";
import { type Script, script } from "./script.js";

/**
 * Writes fields of a record, if it still is what the caller made them from.
 *
 * Keys: 1 the record, 2 unfinished tasks, 3 expiry, and 4 its key's holder if it has an idempotency key: when the task
 * finishes, the end of that is set as well.
 *
 * Arguments: 1 expected version, 2 expected place (an id that is used again after its task is gone has another one),
 * 3 and 4 what `endOf` says of it, 5… names and values of the fields, the next version among them.
 *
 * Answers "written"; "conflict" when the record has moved on; "gone" when there is no such task. Of any number of
 * runs from one version, one writes. All fields change together; what is not named is neither read nor written.
 */
export const UPDATE: Script = script(`${EXPIRE}
local is = redis.call('HMGET', KEYS[1], 'version', 'place')
if not is[1] then return 'gone' end
if is[1] ~= ARGV[1] or is[2] ~= ARGV[2] then return 'conflict' end
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
if ARGV[3] ~= '' then expire(KEYS[1], KEYS[2], KEYS[3], ARGV[2], ARGV[3], ARGV[4], KEYS[4]) end
return 'written'
`);
