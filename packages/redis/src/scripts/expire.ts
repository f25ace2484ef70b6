/**
 * Part of the scripts that finish a task: `expire(task, unfinished, expiry, finished_at, place, ttl, holder)` lets the
 * record and its idempotency key go when its ttl is over, and notes the rest for the sweep. The last three are the
 * record's own fields of these names; `holder` is false where there is no key.
 *
 * - Redis itself ends both, to the millisecond of its own clock; `PEXPIREAT` ends a key after the instant that it is
 *   given, and a task is gone at `finishedAt + ttl`, hence the instant before.
 * - The idempotency key ends only if it still names this task.
 * - An instant beyond what Redis counts means that nothing ends; the numbers that JavaScript counts in reach it.
 */
import { INSTANT_LENGTH, OWNER_LENGTH } from "../keys.js";

export const EXPIRE: string = `
local LAST_INSTANT = 9000000000000000

local function expire(task, unfinished, expiry, finished_at, place, ttl, holder)
  local order = string.sub(place, ${OWNER_LENGTH + 1})
  local at = tonumber(finished_at) + tonumber(ttl)
  redis.call('ZREM', unfinished, order)
  redis.call('ZADD', expiry, string.format('%.17g', at), place)
  if at >= LAST_INSTANT then return end
  local last = string.format('%.0f', math.ceil(at) - 1)
  local id = string.sub(order, ${INSTANT_LENGTH + 1})
  if holder and redis.call('GET', holder) == id then redis.call('PEXPIREAT', holder, last) end
  redis.call('PEXPIREAT', task, last)
end
`;
