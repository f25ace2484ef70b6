import assert from "node:assert/strict";
import { type CaseGroup, promised } from "../case.js";
import { assertOneWinner, increment } from "./compare-and-set.js";
import { assertOneRecord } from "./creation.js";

const SEVERAL = "Methods are called as methods and may be called at the same time, from several processes on one store";

export const twoHandleCases: CaseGroup = {
  name: "two handles",
  cases: [
    promised(
      SEVERAL,
      async (context) => {
        const [a, b] = [context.store, await context.openAnother()];
        const task = await context.create({ idempotencyKey: "key" });
        assert.deepEqual(await b.get(task.taskId), task);
        const next = await context.changed(task, { statusMessage: "by b", partialOutput: [1] }, b);
        assert.deepEqual(await a.get(task.taskId), next);
        assert.deepEqual(await a.findByKey("owner", "key"), next);
        assert.deepEqual((await a.list({ limit: 1 })).tasks[0]?.statusMessage, "by b");
        assert.equal(await a.update(task.taskId, task.version, { statusMessage: "late" }), "conflict");
        const done = await context.finish(next, {}, a);
        assert.deepEqual(await b.get(task.taskId), done);
      },
      { needs: ["openAnother"] },
    ),
    promised(
      SEVERAL,
      async (context) => {
        const stores = [context.store, await context.openAnother()] as const;
        const records = await Promise.all(Array.from({ length: 50 }, () => context.newTask({ idempotencyKey: "key" })));
        const answers = await Promise.all(records.map((record, n) => stores[n % 2 === 0 ? 0 : 1].create(record)));
        await assertOneRecord(stores[0], records, answers);
        await assertOneRecord(stores[1], records, answers);
      },
      { detail: "one key is one task", needs: ["openAnother"] },
    ),
    promised(
      SEVERAL,
      async (context) => {
        const stores = [context.store, await context.openAnother()] as const;
        await assertOneWinner(await context.create(), stores);
        const { taskId } = await context.create();
        await Promise.all(stores.map((store) => increment(store, taskId, 20)));
        for (const store of stores) assert.equal((await store.get(taskId))?.progress?.current, 40);
      },
      { detail: "of two updates one wins", needs: ["openAnother"] },
    ),
    promised(
      SEVERAL,
      async (context) => {
        const other = await context.openAnother();
        await context.expired({ idempotencyKey: "key" });
        const record = await context.newTask({ idempotencyKey: "key" });
        assert.deepEqual(await other.create(record), record);
        await context.sweepAll();
        assert.deepEqual(await context.store.findByKey("owner", "key"), record);
        assert.deepEqual(await other.findByKey("owner", "key"), record);
      },
      { detail: "the sweep of one leaves what the other made", needs: ["openAnother"] },
    ),
  ],
};
