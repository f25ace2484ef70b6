import { INSTANT_LENGTH, OWNER_LENGTH } from "../keys.js";
import { type Script, script } from "./script.js";

/**
 * Reads the next stretch of a listing, newest first.
 *
 * Keys: 1 a set of tasks in order. Reads the records that the set names.
 *
 * Arguments: 1 "+" or "(" and the order to go on after, 2 how many to look at, 3 what names of records begin with,
 * 4 an owner's digest, or "" for everybody.
 *
 * Answers how many it looked at, the order of the last one or "", and the heads of those that are there and the
 * owner's. A member whose record is gone, by expiry or by hand, is taken out of the set. What a run costs is bounded
 * by argument 2.
 */
export const LIST: Script = script(`
local orders = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[1], '-', 'LIMIT', 0, ARGV[2])
local heads = {}
for _, order in ipairs(orders) do
  local record = redis.call('HMGET', ARGV[3] .. string.sub(order, ${INSTANT_LENGTH + 1}), 'head', 'place')
  if not record[1] then
    redis.call('ZREM', KEYS[1], order)
  elseif ARGV[4] == '' or ARGV[4] == string.sub(record[2], 1, ${OWNER_LENGTH}) then
    heads[#heads + 1] = record[1]
  end
end
return {#orders, orders[#orders] or '', heads}
`);
