/**
 * Part of the scripts that finish a task: `expire(task, keys, finishedAt)` lets the record and its idempotency key go
 * when its ttl is over, and notes the rest for the sweep.
 *
 * - Redis itself ends both, to the millisecond of its own clock; `PEXPIREAT` ends a key after the instant that it is
 *   given, and a task is gone at `finishedAt + ttl`, hence the instant before.
 * - The idempotency key ends only if it still names this task.
 * - An instant beyond what Redis counts means that nothing ends; the numbers that JavaScript counts in reach it.
 */
export const EXPIRE = `
local LAST_INSTANT = 9000000000000000

local function expire(task, unfinished, expiry, finished_at)
  local own = redis.call('HMGET', task, 'order', 'owner', 'ttl', 'holder', 'id')
  local at = tonumber(finished_at) + tonumber(own[3])
  redis.call('ZREM', unfinished, own[1])
  redis.call('ZADD', expiry, string.format('%.17g', at), own[2] .. own[1])
  if at >= LAST_INSTANT then return end
  local last = string.format('%.0f', math.ceil(at) - 1)
  if own[4] and redis.call('GET', own[4]) == own[5] then redis.call('PEXPIREAT', own[4], last) end
  redis.call('PEXPIREAT', task, last)
end
`;
