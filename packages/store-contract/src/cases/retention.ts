import assert from "node:assert/strict";
import { type CaseGroup, promised } from "../case.js";

const KEY_FREE = "A key whose task has expired is free";
const GET = "The record; `null` when it does not exist, or has expired";
const SWEEP = "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many";
const DAY_MS = 86_400_000;

export const retentionCases: CaseGroup = {
  name: "retention",
  cases: [
    promised(
      GET,
      async (context) => {
        const task = await context.finish(await context.create());
        await context.advance(Math.floor(context.ttlMs / 2));
        assert.deepEqual(await context.store.get(task.taskId), task, "it went before its time");
        await context.advance(Math.ceil(context.ttlMs / 2) + 1);
        assert.equal(await context.store.get(task.taskId), null);
      },
      { detail: "once its ttl is over, although nothing has been swept" },
    ),
    promised(
      GET,
      async (context) => {
        const task = await context.create({ idempotencyKey: "key" });
        await context.advance(3 * context.ttlMs);
        await context.sweepAll();
        assert.deepEqual(await context.store.get(task.taskId), task);
        assert.deepEqual(await context.store.findByKey("owner", "key"), task);
        const finished = await context.finish(task);
        await context.advance(Math.floor(context.ttlMs / 2));
        await context.sweepAll();
        assert.deepEqual(await context.store.get(task.taskId), finished, "its ttl did not count from its end");
      },
      { detail: "a ttl counts from the end: what runs never expires" },
    ),
    promised(
      GET,
      async (context) => {
        for (const ttlMs of [30 * DAY_MS, 400 * DAY_MS, Number.MAX_SAFE_INTEGER]) {
          const task = await context.finish(await context.create({ ttlMs }));
          await context.passTtl();
          await context.sweepAll();
          assert.deepEqual(await context.store.get(task.taskId), task, `a ttl of ${ttlMs} ms`);
        }
      },
      { detail: "a ttl beyond 2^31 ms is not cut short" },
    ),
    promised(
      GET,
      async (context) => {
        const task = await context.finish(await context.create({ ttlMs: 0, idempotencyKey: "key" }));
        await context.advance(1);
        assert.equal(await context.store.get(task.taskId), null);
        assert.equal(await context.store.findByKey("owner", "key"), null);
      },
      { detail: "a ttl of 0 is over at the end, and never means for ever" },
    ),
    promised("The clock that expiry and leases are decided by, epoch milliseconds", async (context) => {
      const clockNow = async (): Promise<number> => (await context.store.now?.()) ?? context.now();
      const before = await clockNow();
      const task = await context.finish(await context.create(), { finishedAt: before });
      assert.deepEqual(await context.store.get(task.taskId), task);
      await context.passTtl();
      assert((await clockNow()) >= before + context.ttlMs, "the clock stands still");
      assert.equal(await context.store.get(task.taskId), null, "expiry goes by another clock");
    }),
    promised(KEY_FREE, async (context) => {
      const old = await context.expired({ idempotencyKey: "key" });
      const record = await context.newTask({ idempotencyKey: "key" });
      assert.deepEqual(await context.store.create(record), record);
      assert.deepEqual(await context.store.findByKey("owner", "key"), record);
      assert.equal(await context.store.get(old.taskId), null);
      assert.deepEqual(await context.listAll(), [record.taskId]);
    }),
    promised(
      KEY_FREE,
      async (context) => {
        await context.expired({ idempotencyKey: "key" });
        const holder = await context.create({ idempotencyKey: "key" });
        await context.sweepAll();
        assert.deepEqual(await context.store.findByKey("owner", "key"), holder, "the sweep freed the new holder's key");
        const again = await context.newTask({ idempotencyKey: "key" });
        assert.deepEqual(await context.store.create(again), holder);
        assert.deepEqual(await context.listAll(), [holder.taskId]);
      },
      { detail: "and stays with its new holder when the old one is swept", needs: ["sweep"] },
    ),
    promised(
      KEY_FREE,
      async (context) => {
        await context.expired({ idempotencyKey: "key" });
        const records = await Promise.all(Array.from({ length: 20 }, () => context.newTask({ idempotencyKey: "key" })));
        const answers = await Promise.all(records.map((record) => context.store.create(record)));
        assert.equal(new Set(answers.map((task) => task.taskId)).size, 1);
        assert.deepEqual(await context.listAll(), [answers[0]?.taskId]);
      },
      { detail: "for one of those who ask for it at once" },
    ),
    promised(
      KEY_FREE,
      async (context) => {
        await context.expired({ idempotencyKey: "key" });
        await context.sweepAll();
        const record = await context.newTask({ idempotencyKey: "key" });
        assert.deepEqual(await context.store.create(record), record);
      },
      { detail: "after a sweep as before it" },
    ),
    promised("Expired tasks are left out", async (context) => {
      await context.expired();
      const live = await context.create();
      const finished = await context.finish(await context.create());
      const shown = new Set([live.taskId, finished.taskId]);
      assert.deepEqual(new Set(await context.listAll()), shown);
      assert.deepEqual(new Set(await context.listAll({ owner: "owner" }, 1)), shown);
      assert.deepEqual(await context.listAll({ unfinished: true }), [live.taskId]);
    }),
    promised(
      SWEEP,
      async (context) => {
        const { store } = context;
        for (let n = 0; n < 5; n += 1) await context.finish(await context.create({ idempotencyKey: `old ${n}` }));
        await context.passTtl();
        const live = await context.create({ idempotencyKey: "live" });
        const finished = await context.finish(await context.create({ idempotencyKey: "finished" }));
        const removed = [await store.sweep?.(3), await store.sweep?.(3), await store.sweep?.(3)];
        assert.deepEqual(removed, [3, 2, 0]);
        assert.deepEqual(await store.findByKey("owner", "live"), live);
        assert.deepEqual(await store.findByKey("owner", "finished"), finished);
        const record = await context.newTask({ idempotencyKey: "old 0" });
        assert.deepEqual(await store.create(record), record);
      },
      { needs: ["sweep"] },
    ),
    promised(
      SWEEP,
      async (context) => {
        for (let n = 0; n < 40; n += 1) await context.finish(await context.create());
        await context.passTtl();
        const removed = await Promise.all(Array.from({ length: 4 }, () => context.store.sweep?.(20) ?? 0));
        assert.equal(
          removed.reduce((sum, count) => sum + count, 0),
          40,
        );
        assert(
          removed.every((count) => count <= 20),
          `a sweep of 20 removed ${Math.max(...removed)}`,
        );
      },
      { detail: "each once, however many sweep", needs: ["sweep"] },
    ),
  ],
};
