import { INSTANT_LENGTH, OWNER_LENGTH } from "../keys.js";
import { type Script, script } from "./script.js";

/**
 * Takes what has expired out of the indexes. Records and idempotency keys are gone already: Redis ends them by itself.
 *
 * Keys: 1 expiry, 2 everybody's tasks, 3 unfinished tasks. Also the sets of the owners and the records concerned.
 *
 * Arguments: 1 how many at the most, 2 what names of owners' sets begin with, 3 what names of records begin with.
 *
 * Answers how many there were. Each is removed and counted once, however many sweep. A record that has come to have
 * the same id and place since stays in the indexes.
 */
export const SWEEP: Script = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, place in ipairs(expired) do
  local owner, order = string.sub(place, 1, ${OWNER_LENGTH}), string.sub(place, ${OWNER_LENGTH + 1})
  redis.call('ZREM', KEYS[1], place)
  if redis.call('HGET', ARGV[3] .. string.sub(order, ${INSTANT_LENGTH + 1}), 'place') ~= place then
    redis.call('ZREM', KEYS[2], order)
    redis.call('ZREM', KEYS[3], order)
    redis.call('ZREM', ARGV[2] .. owner, order)
  end
end
return #expired
`);
