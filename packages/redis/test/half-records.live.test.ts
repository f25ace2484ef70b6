import { randomBytes } from "node:crypto";
import { RedisStore } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { Keys, ownerDigest } from "../src/keys.js";

const { url } = inject("redis");
const prefix = `half_${randomBytes(8).toString("hex")}`;
const keys = new Keys(prefix);
const store = new RedisStore({ url, prefix });
const admin = new Redis(url, { lazyConnect: true });

beforeAll(async () => {
  await admin.connect();
  await store.open();
});
afterAll(async () => {
  await store.close();
  admin.disconnect();
});

test("a record that somebody removed is no task: its key is free, and listings heal", async () => {
  const task = await store.create(workingTask({ idempotencyKey: "key" }));
  await admin.del(keys.task(task.taskId));
  expect(await store.get(task.taskId)).toBeNull();
  expect(await store.findByKey("ada", "key")).toBeNull();
  for (const query of [{}, { owner: "ada" }, { unfinished: true }]) {
    expect(await store.list({ ...query, limit: 5 })).toEqual({ tasks: [] });
  }
  for (const listing of [keys.everybody, keys.ownerBase + ownerDigest("ada"), keys.unfinished]) {
    expect(await admin.zcard(listing)).toBe(0);
  }
  const next = workingTask({ idempotencyKey: "key" });
  expect(await store.create(next)).toEqual(next);
});

test("a finished record whose outcome somebody removed is an error, not an empty result", async () => {
  const task = await store.create(workingTask());
  await store.update(task.taskId, 1, completion(await store.now()));
  await admin.hdel(keys.task(task.taskId), "outcome");
  await expect(store.get(task.taskId)).rejects.toThrow(
    `Task ${task.taskId} is incomplete: somebody removed its outcome`,
  );
});

test("a finished record whose expiry somebody removed does not stop the sweep", async () => {
  const task = await store.create(workingTask({ ttlMs: 0 }));
  await store.update(task.taskId, 1, completion(await store.now()));
  await admin.zadd(keys.expiry, 1, "rubbish");
  expect(await store.sweep(10)).toBe(2);
  expect(await store.sweep(10)).toBe(0);
});

test("everything goes when its time is over: record, key, listings and expiry", async () => {
  const before = (await admin.keys(`{${prefix}}:*`)).sort();
  for (let n = 0; n < 20; n += 1) {
    const task = await store.create(workingTask({ owner: "gone", ttlMs: 1, idempotencyKey: `key ${n}` }));
    await store.update(task.taskId, 1, completion(await store.now()));
  }
  let swept = 0;
  await expect.poll(async () => (swept += await store.sweep(7))).toBe(20);
  expect((await admin.keys(`{${prefix}}:*`)).sort()).toEqual(before);
});

test("an expired task never takes the key of the task that has it now", async () => {
  const first = await store.create(workingTask({ ttlMs: 1, idempotencyKey: "turns" }));
  await store.update(first.taskId, 1, completion(await store.now()));
  await expect.poll(() => store.get(first.taskId)).toBeNull();
  const second = await store.create(workingTask({ idempotencyKey: "turns" }));
  await store.sweep(10);
  expect(await store.findByKey("ada", "turns")).toEqual(second);
  expect(await admin.pttl(keys.holder(ownerDigest("ada"), "turns"))).toBe(-1);
});

test("a change of status touches no payload", async () => {
  const task = await store.create(workingTask({ arguments: { text: "x".repeat(1000) } }));
  await admin.hset(keys.task(task.taskId), "arguments", '{"text":"as it was"}');
  await store.update(task.taskId, 1, { statusMessage: "half way" });
  expect(await admin.hget(keys.task(task.taskId), "arguments")).toBe('{"text":"as it was"}');
});
