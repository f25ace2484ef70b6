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

/** How much has been written to where the table's payloads of some size are kept, and read from there. */
async function payloadTraffic(): Promise<{ bytes: number; reads: number }> {
  const [traffic] = await sql(
    `SELECT pg_relation_size(c.reltoastrelid)::int AS bytes,
       (s.toast_blks_read + s.toast_blks_hit)::int AS reads
     FROM pg_class c JOIN pg_statio_all_tables s ON s.relid = c.oid
     WHERE c.oid = '${schema}.tasks'::regclass`,
  );
  return traffic;
}

test("changes of status and listings neither write nor read a payload of some size", async () => {
  const noise = randomBytes(1_000_000).toString("base64");
  const task = await store.create(workingTask({ arguments: { noise }, checkpoint: noise }));
  const { bytes } = await payloadTraffic();
  expect(bytes).toBeGreaterThan(2_000_000);
  for (let version = 1; version <= 20; version += 1) {
    await store.update(task.taskId, version, { statusMessage: `step ${version}`, progress: { current: version } });
  }
  expect((await payloadTraffic()).bytes).toBe(bytes);
  const plan = await sql(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT head FROM ${schema}.tasks`);
  expect(plan[0]["QUERY PLAN"][0].Plan["Shared Hit Blocks"]).toBeLessThan(30);
  expect(await store.get(task.taskId)).toMatchObject({ arguments: { noise }, checkpoint: noise, version: 21 });
});

test("a change that this process makes after another's reads what that one wrote", async () => {
  const other = new PostgresStore({ url, schema });
  await other.open();
  const task = await store.create(workingTask());
  const theirs = await other.update(task.taskId, 1, { partialOutput: ["theirs"], statusMessage: "theirs" });
  expect(await store.update(task.taskId, 1, { statusMessage: "mine" })).toBe("conflict");
  const mine = await store.update(task.taskId, 2, { progress: { current: 1 } });
  expect(mine).toEqual({ ...(theirs as object), progress: { current: 1 }, version: 3 });
  expect(await other.get(task.taskId)).toEqual(mine);
  await other.close();
});

test("a finished record whose outcome somebody removed is an error, not an empty result, and is still listed", async () => {
  const task = await store.create(workingTask({ owner: "half" }));
  await store.update(task.taskId, 1, completion());
  await sql(`UPDATE ${schema}.tasks SET outcome = NULL WHERE task_id = $1`, [task.taskId]);
  await expect(store.get(task.taskId)).rejects.toThrow(
    `Task ${task.taskId} is incomplete: somebody removed its outcome`,
  );
  expect((await store.list({ owner: "half", limit: 5 })).tasks).toHaveLength(1);
});

test("a sweep leaves no row behind", async () => {
  for (let n = 0; n < 30; n += 1) {
    const task = await store.create(workingTask({ owner: "swept", ttlMs: 0, idempotencyKey: `key ${n}` }));
    await store.update(task.taskId, 1, completion());
  }
  let swept = 0;
  for (let removed = -1; removed !== 0; swept += removed) removed = await store.sweep(7);
  expect(swept).toBeGreaterThanOrEqual(29);
  expect(await sql(`SELECT FROM ${schema}.tasks WHERE owner = 'swept'`)).toEqual([]);
});

test("a listing goes through an index, however many tasks are kept", async () => {
  const plans = await asAdmin(url, async (client) => {
    // A table of a few rows is read whole whatever its indexes; what matters is that they fit.
    await client.query("SET enable_seqscan = off; SET enable_sort = off");
    const order = "ORDER BY created_at DESC, task_id DESC LIMIT 50";
    const queries = [`WHERE owner = 'ada' ${order}`, order, `WHERE expires_at IS NULL ${order}`];
    const explain = (query: string) => client.query(`EXPLAIN SELECT head FROM ${schema}.tasks ${query}`);
    const explained = [];
    for (const query of queries) explained.push((await explain(query)).rows.map((row) => row["QUERY PLAN"]).join("\n"));
    return explained;
  });
  expect(plans[0]).toContain("Index Scan Backward using tasks_of_owner");
  expect(plans[1]).toContain("Index Scan Backward using tasks_of_everybody");
  expect(plans[2]).toContain("Index Scan Backward using tasks_unfinished");
  for (const plan of plans) expect(plan).not.toContain("Sort");
});
