import { INSTANT_LENGTH } from "../keys.js";
import { type Script, script } from "./script.js";

/**
 * Reads the next stretch of a listing, newest first.
 *
 * Keys: 1 a set of tasks in order. Reads the records that the set names.
 *
 * Arguments: 1 "+" or "(" and the order to go on after, 2 how many to look at, 3 what names of records begin with,
 * 4 an owner's digest, or "" for everybody, 5… names of the fields to read.
 *
 * Answers how many it looked at, the order of the last one or "", and the fields of those that are there and the
 * owner's. A member whose record is gone, by expiry or by hand, is taken out of the set. What a run costs is bounded
 * by argument 2.
 */
export const LIST: Script = script(`
local orders = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[1], '-', 'LIMIT', 0, ARGV[2])
local found = {}
for _, order in ipairs(orders) do
  local fields = redis.call('HMGET', ARGV[3] .. string.sub(order, ${INSTANT_LENGTH + 1}), 'owner', unpack(ARGV, 5))
  local owner = table.remove(fields, 1)
  if not owner then
    redis.call('ZREM', KEYS[1], order)
  elseif ARGV[4] == '' or ARGV[4] == owner then
    found[#found + 1] = fields
  end
end
return {#orders, orders[#orders] or '', found}
`);
