/**
 * Part of the scripts that finish a task: `expire(task, unfinished, expiry, place, at, last, holder)` lets the record and its
 * idempotency key go when its ttl is over, and notes the rest for the sweep. `place` is the record's own, `holder` the name of
 * its idempotency key or nil, and `at` and `last` are what `endOf` says.
 *
 * Redis itself ends both, to the millisecond of its own clock. The idempotency key ends only if it still names this task.
 */
import { INSTANT_LENGTH, OWNER_LENGTH } from "../keys.js";

export const EXPIRE: string = `
local function expire(task, unfinished, expiry, place, at, last, holder)
  local order = string.sub(place, ${OWNER_LENGTH + 1})
  redis.call('ZREM', unfinished, order)
  redis.call('ZADD', expiry, at, place)
  if last == '' then return end
  if holder and redis.call('GET', holder) == string.sub(order, ${INSTANT_LENGTH + 1}) then
    redis.call('PEXPIREAT', holder, last)
  end
  redis.call('PEXPIREAT', task, last)
end
`;

/** What is later than this Redis does not count; the numbers that JavaScript counts in reach it. */
const LAST_INSTANT = 9_000_000_000_000_000;

/**
 * When a task is gone that finished at `finishedAt`, and what `PEXPIREAT` is given for it: that ends a key after its instant,
 * and a task is gone at its own, hence the one before. Both are empty for a task that has not finished, the second also
 * where nothing ends.
 */
export function endOf(finishedAt: number | undefined, ttlMs: number): [at: string, last: string] {
  if (finishedAt === undefined) return ["", ""];
  const at = finishedAt + ttlMs;
  return [String(at), at < LAST_INSTANT ? String(Math.ceil(at) - 1) : ""];
}
