import { randomBytes } from "node:crypto";
import { PostgresStore } from "@claimcheck/postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { asAdmin } from "./admin.js";

const { url } = inject("postgres");
const schema = `payloads_${randomBytes(8).toString("hex")}`;
const store = new PostgresStore({ url, schema });

beforeAll(() => store.open());
afterAll(() => store.close());

async function sql(text: string, values: string[] = []) {
  return asAdmin(url, async (client) => (await client.query(text, values)).rows);
}

/** Changes with every write of the row. */
async function payloadRow(taskId: string): Promise<unknown> {
  return sql(`SELECT ctid, xmin FROM ${schema}.payloads WHERE task_id = $1`, [taskId]);
}

test("a change of status writes no payload, a change of output does", async () => {
  const task = await store.create(workingTask());
  const before = await payloadRow(task.taskId);
  const changes = { statusMessage: "half way", progress: { current: 1 }, lastUpdatedAt: Date.now() };
  await store.update(task.taskId, 1, changes);
  expect(await payloadRow(task.taskId)).toEqual(before);
  await store.update(task.taskId, 2, { partialOutput: ["a"] });
  expect(await payloadRow(task.taskId)).not.toEqual(before);
});

test("a record whose payloads somebody removed is an error that names it, and is still listed", async () => {
  const task = await store.create(workingTask({ owner: "half" }));
  await sql(`DELETE FROM ${schema}.payloads WHERE task_id = $1`, [task.taskId]);
  await expect(store.get(task.taskId)).rejects.toThrow(`Task ${task.taskId} is incomplete`);
  expect((await store.list({ owner: "half", limit: 5 })).tasks).toHaveLength(1);
});

test("a finished record whose outcome somebody removed is an error, not an empty result", async () => {
  const task = await store.create(workingTask());
  await store.update(task.taskId, 1, completion());
  await sql(`UPDATE ${schema}.payloads SET outcome = NULL WHERE task_id = $1`, [task.taskId]);
  await expect(store.get(task.taskId)).rejects.toThrow("somebody removed its outcome");
});

test("a sweep leaves no row behind, neither of records nor of payloads", async () => {
  for (let n = 0; n < 30; n += 1) {
    const task = await store.create(workingTask({ owner: "swept", ttlMs: 0, idempotencyKey: `key ${n}` }));
    await store.update(task.taskId, 1, completion());
  }
  let swept = 0;
  for (let removed = -1; removed !== 0; swept += removed) removed = await store.sweep(7);
  expect(swept).toBeGreaterThanOrEqual(30);
  const left = await sql(
    `SELECT (SELECT count(*)::int FROM ${schema}.tasks WHERE expires_at IS NOT NULL AND owner = 'swept') AS tasks,
       (SELECT count(*)::int FROM ${schema}.payloads p
        WHERE NOT EXISTS (SELECT FROM ${schema}.tasks t WHERE t.task_id = p.task_id)) AS payloads`,
  );
  expect(left).toEqual([{ tasks: 0, payloads: 0 }]);
});

test("a listing and a read go through an index, however many tasks are kept", async () => {
  await sql(`ANALYZE ${schema}.tasks`);
  const plans = await asAdmin(url, async (client) => {
    // A table of a few rows is read whole whatever its indexes; what matters is that they fit.
    await client.query("SET enable_seqscan = off; SET enable_sort = off");
    const order = "ORDER BY created_at DESC, task_id DESC LIMIT 50";
    const queries = [`WHERE owner = 'ada' ${order}`, order, `WHERE finished_at IS NULL ${order}`];
    const explain = (query: string) => client.query(`EXPLAIN SELECT * FROM ${schema}.tasks ${query}`);
    const explained = [];
    for (const query of queries) explained.push((await explain(query)).rows.map((row) => row["QUERY PLAN"]).join("\n"));
    return explained;
  });
  expect(plans[0]).toContain("Index Scan Backward using tasks_of_owner");
  expect(plans[1]).toContain("Index Scan Backward using tasks_of_everybody");
  expect(plans[2]).toContain("Index Scan Backward using tasks_unfinished");
  for (const plan of plans) expect(plan).not.toContain("Sort");
});
