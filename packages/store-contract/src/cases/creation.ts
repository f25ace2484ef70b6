import assert from "node:assert/strict";
import type { TaskRecord, TaskStore } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import { type CaseContext, newTaskId } from "../case-context.js";

const ANSWERS =
  "Answers the record itself, or the live record that already holds this owner's idempotency key; that one is left as it is";
const ATOMIC =
  "Is atomic on owner and key: of any number of concurrent creates with one key, one record exists afterwards";
const TAKEN = "A task id that is taken is a rejection and changes nothing";
const GET = "The record; `null` when it does not exist, or has expired";

export const creationCases: CaseGroup = {
  name: "creation",
  cases: [
    promised("Stores a new record", async (context) => {
      const record = await context.newTask({
        idempotencyKey: "key",
        fingerprint: "f".repeat(64),
        statusMessage: "queued",
        pollIntervalMs: 250,
        maxRunMs: 5_000,
        recovery: "resume",
        request: { sessionId: "s1", principal: { subject: "ada" } },
        checkpoint: { step: 1 },
      });
      await context.store.create(record);
      assert.deepEqual(await context.store.get(record.taskId), record);
    }),
    promised(GET, async (context) => {
      const task = await context.create();
      assert.deepEqual(await context.store.get(task.taskId), task);
      for (const id of INVENTED_IDS) assert.equal(await context.store.get(id), null, `get(${JSON.stringify(id)})`);
      assert.equal(await context.store.get(task.taskId.slice(0, -1)), null);
      assert.equal(await context.store.get(`${task.taskId}\0`), null);
    }),
    promised(ANSWERS, async (context) => {
      const record = await context.newTask({ idempotencyKey: "key" });
      assert.deepEqual(await context.store.create(record), record);
      const first = await context.changed(record, { statusMessage: "on its way" });
      await assertReplayed(context, first);
    }),
    promised(
      ANSWERS,
      async (context) => assertReplayed(context, await context.finish(await context.create({ idempotencyKey: "key" }))),
      { detail: "also when that one has finished" },
    ),
    promised(
      ANSWERS,
      async (context) => {
        const record = await context.newTask({ idempotencyKey: "key" });
        const stored = await context.store.create(record);
        assert.deepEqual(await context.store.create(record), stored);
        assert.deepEqual(await context.listAll(), [record.taskId]);
      },
      { detail: "so a create that is sent twice is one" },
    ),
    promised(ATOMIC, async (context) => {
      const records = await Promise.all(Array.from({ length: 50 }, () => context.newTask({ idempotencyKey: "key" })));
      const answers = await Promise.all(records.map((record) => context.store.create(record)));
      await assertOneRecord(context.store, records, answers);
    }),
    promised("A record without a key never meets another", async (context) => {
      const keys = ["", "undefined", "null", undefined, undefined];
      const create = (key?: string) => context.create(key === undefined ? {} : { idempotencyKey: key });
      const ids: string[] = [];
      for (const key of keys) ids.push((await create(key)).taskId);
      assert.equal(new Set(ids).size, keys.length);
      assert.deepEqual(new Set(await context.listAll()), new Set(ids));
    }),
    promised(TAKEN, async (context) => {
      const task = await context.create({ idempotencyKey: "key" });
      const intruder = await context.newTask({ taskId: task.taskId, owner: "other", idempotencyKey: "theirs" });
      await assert.rejects(context.store.create(intruder));
      await assert.rejects(context.store.create({ ...intruder, owner: "owner" }));
      assert.deepEqual(await context.store.get(task.taskId), task);
      assert.deepEqual(await context.store.findByKey("owner", "key"), task);
      assert.equal(await context.store.findByKey("other", "theirs"), null);
      assert.deepEqual(await context.listAll({ owner: "other" }), []);
      const second = await context.newTask({ owner: "other", idempotencyKey: "theirs" });
      assert.equal((await context.store.create(second)).taskId, second.taskId, "the refused create kept the key");
    }),
    promised(
      TAKEN,
      async (context) => {
        const taskId = newTaskId();
        const creates = Array.from({ length: 10 }, (_, n) => context.create({ taskId, owner: `owner ${n}` }));
        const settled = await Promise.allSettled(creates);
        const stored = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
        assert.equal(stored.length, 1, `${stored.length} of 10 concurrent creates with one id succeeded`);
        assert.deepEqual(await context.store.get(taskId), stored[0]);
        assert.deepEqual(await context.listAll(), [taskId]);
      },
      { detail: "among concurrent creates as well" },
    ),
  ],
};

const INVENTED_IDS = ["", "tsk_unknown", "%", "*", "' OR 1=1 --", "__proto__", "constructor", "\0", "x".repeat(10_000)];

/** A create with the key that `holder` holds answers `holder` and leaves no trace. */
async function assertReplayed(context: CaseContext, holder: TaskRecord): Promise<void> {
  const second = await context.newTask({ idempotencyKey: "key", toolName: "another" });
  assert.deepEqual(await context.store.create(second), holder);
  assert.equal(await context.store.get(second.taskId), null);
  assert.deepEqual(await context.store.get(holder.taskId), holder);
  assert.deepEqual(await context.listAll(), [holder.taskId]);
}

/** Of `records`, sent with one key, one was stored and is what every answer holds. */
export async function assertOneRecord(
  store: TaskStore,
  records: readonly TaskRecord[],
  answers: readonly TaskRecord[],
): Promise<void> {
  const winners = new Set(answers.map((answer) => answer.taskId));
  assert.equal(winners.size, 1, `${winners.size} different tasks were answered`);
  const found = await Promise.all(records.map((record) => store.get(record.taskId)));
  const existing = found.filter((record) => record !== null);
  assert.deepEqual(
    existing.map((record) => record.taskId),
    [...winners],
    "a create that lost left its record behind",
  );
  assert.deepEqual(await store.findByKey("owner", "key"), existing[0]);
  assert.equal((await store.list({ limit: 100 })).tasks.length, 1);
}
