import { EXPIRE } from "./expire.js";
import { type Script, script } from "./script.js";

/**
 * Stores a record, if no live record holds its owner's key.
 *
 * Keys: 1 the record, 2 the key's holder (named, but not touched, when there is no key), 3 the owner's tasks,
 * 4 everybody's tasks, 5 unfinished tasks, 6 expiry. Reads the record of the holder, which it has to look up.
 *
 * Arguments: 1 task id, 2 "1" if there is an idempotency key, 3 what names of records begin with, 4 the owner's
 * digest, 5 its order, 6 ttl, 7 when it finished or "", 8… names and values of its fields.
 *
 * Answers nil when it stored the record, and otherwise the id of the live record that holds the key, which is left as
 * it is. Replies the error TAKEN when the id is taken. Of any number of runs with one key, one stores its record: a
 * key whose record is gone, by expiry or by hand, is free. All of record, key and indexes is there, or none.
 */
export const CREATE: Script = script(`${EXPIRE}
local id, has_key = ARGV[1], ARGV[2] == '1'
local order, owner = ARGV[5], ARGV[4]
if has_key then
  local holder = redis.call('GET', KEYS[2])
  if holder and redis.call('EXISTS', ARGV[3] .. holder) == 1 then return holder end
end
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('TAKEN the task id') end
redis.call('HSET', KEYS[1], 'id', id, 'owner', owner, 'order', order, 'ttl', ARGV[6], unpack(ARGV, 8))
redis.call('ZREM', KEYS[6], owner .. order)
redis.call('ZADD', KEYS[3], 0, order)
redis.call('ZADD', KEYS[4], 0, order)
if has_key then
  redis.call('HSET', KEYS[1], 'holder', KEYS[2])
  redis.call('SET', KEYS[2], id)
end
if ARGV[7] == '' then
  redis.call('ZADD', KEYS[5], 0, order)
else
  expire(KEYS[1], KEYS[5], KEYS[6], ARGV[7])
end
return nil
`);
