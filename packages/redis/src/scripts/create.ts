import type { RecordTexts, TaskRecord } from "@claimcheck/core";
import { type Keys, OWNER_LENGTH, orderOf, ownerDigest } from "../keys.js";
import { fieldsOf } from "../record-fields.js";
import { EXPIRE, endOf } from "./expire.js";
import { type Script, script } from "./script.js";

/**
 * Stores a record, if no live record holds its owner's key.
 *
 * Keys: 1 the record, 2 the owner's tasks, 3 everybody's tasks, 4 unfinished tasks, 5 expiry, and 6 the key's holder
 * if there is an idempotency key. Reads the record of the holder, which it has to look up.
 *
 * Arguments: 1 task id, 2 what names of records begin with, 3 its place (the owner's digest and its order), 4 and 5 what
 * `endOf` says of it, 6… names and values of its fields.
 *
 * Answers nil when it stored the record, and otherwise the id of the live record that holds the key, which is left as
 * it is. Replies the error TAKEN when the id is taken. Of any number of runs with one key, one stores its record: a
 * key whose record is gone, by expiry or by hand, is free. All of record, key and indexes is there, or none.
 */
export const CREATE: Script = script(`${EXPIRE}
local id, place, holder_key = ARGV[1], ARGV[3], KEYS[6]
if holder_key then
  local holder = redis.call('GET', holder_key)
  if holder and redis.call('EXISTS', ARGV[2] .. holder) == 1 then return holder end
end
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('TAKEN the task id') end
redis.call('HSET', KEYS[1], 'place', place, unpack(ARGV, 6))
local order = string.sub(place, ${OWNER_LENGTH + 1})
redis.call('ZADD', KEYS[2], 0, order)
redis.call('ZADD', KEYS[3], 0, order)
if holder_key then
  redis.call('SET', holder_key, id)
end
if ARGV[4] == '' then
  redis.call('ZADD', KEYS[4], 0, order)
else
  expire(KEYS[1], KEYS[4], KEYS[5], place, ARGV[4], ARGV[5], holder_key)
end
return nil
`);

/** What the script takes for a record. */
export function creationOf(record: TaskRecord, texts: RecordTexts, keys: Keys): { keys: string[]; args: string[] } {
  const { idempotencyKey, ttlMs, version } = record;
  const taskKey = keys.task(record.taskId);
  const digest = ownerDigest(record.owner);
  const holder = idempotencyKey === undefined ? [] : [keys.holder(digest, idempotencyKey)];
  const finishedAt = "finishedAt" in record ? record.finishedAt : undefined;
  return {
    keys: [taskKey, keys.ownerBase + digest, keys.everybody, keys.unfinished, keys.expiry, ...holder],
    args: [
      ...[taskKey.slice(keys.taskBase.length), keys.taskBase, digest + orderOf(record), ...endOf(finishedAt, ttlMs)],
      ...fieldsOf(version, texts),
    ],
  };
}
