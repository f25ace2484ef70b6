import assert from "node:assert/strict";
import { type CaseGroup, promised } from "../case.js";

const DURABLE = "A promise that resolves has been made durable, to the degree that the store promises";

export const reopenCases: CaseGroup = {
  name: "reopen",
  cases: [
    promised(
      DURABLE,
      async (context) => {
        const live = await context.create({ idempotencyKey: "live" });
        const busy = await context.changed(await context.create(), {
          partialOutput: ["a"],
          checkpoint: { step: 2 },
          progress: { current: 1 },
        });
        const done = await context.finish(await context.create({ idempotencyKey: "done" }));
        const store = await context.reopen();
        for (const task of [live, busy, done]) assert.deepEqual(await store.get(task.taskId), task);
        assert.equal((await store.list({ limit: 9 })).tasks.length, 3);
      },
      { needs: ["reopen"] },
    ),
    promised(
      DURABLE,
      async (context) => {
        const task = await context.create({ idempotencyKey: "key" });
        const store = await context.reopen();
        assert.deepEqual(await store.findByKey("owner", "key"), task);
        assert.deepEqual(await store.create(await context.newTask({ idempotencyKey: "key" })), task);
      },
      { detail: "keys stay with their holders", needs: ["reopen"] },
    ),
    promised(
      DURABLE,
      async (context) => {
        const task = await context.create();
        const store = await context.reopen();
        assert.equal(await store.update(task.taskId, task.version + 1, { statusMessage: "x" }), "conflict");
        const next = await context.changed(task, { statusMessage: "x" }, store);
        assert.equal(next.version, task.version + 1);
      },
      { detail: "versions go on where they were", needs: ["reopen"] },
    ),
    promised(
      DURABLE,
      async (context) => {
        for (let n = 0; n < 5; n += 1) await context.create();
        const all = await context.listAll();
        const first = await context.store.list({ limit: 2 });
        const store = await context.reopen();
        const rest = await store.list({ limit: 9, cursor: String(first.nextCursor) });
        assert.deepEqual(
          [...first.tasks, ...rest.tasks].map((task) => task.taskId),
          all,
        );
      },
      { detail: "a cursor outlives a restart", needs: ["reopen"] },
    ),
    promised(
      DURABLE,
      async (context) => {
        const done = await context.finish(await context.create({ idempotencyKey: "key" }));
        const live = await context.create();
        await context.passTtl();
        const store = await context.reopen();
        assert.equal(await store.get(done.taskId), null);
        assert.equal(await store.findByKey("owner", "key"), null);
        const record = await context.newTask({ idempotencyKey: "key" });
        assert.deepEqual(await store.create(record), record);
        await context.sweepAll(store);
        assert.deepEqual(await store.get(live.taskId), live);
        assert.deepEqual(await store.get(record.taskId), record);
      },
      { detail: "retention goes on", needs: ["reopen"] },
    ),
  ],
};
