import { randomBytes } from "node:crypto";
import { PostgresStore } from "@claimcheck/postgres";
import { expect, inject, test } from "vitest";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { asAdmin } from "./admin.js";

const { url } = inject("postgres");
const fresh = (): string => `migrate_${randomBytes(8).toString("hex")}`;

test("ten instances that start at once make one set of tables, and all work", async () => {
  const schema = fresh();
  const stores = Array.from({ length: 10 }, () => new PostgresStore({ url, schema, poolSize: 2 }));
  await Promise.all(stores.map((store) => store.open()));
  const tasks = await Promise.all(stores.map((store) => store.create(workingTask())));
  for (const store of stores) expect((await store.list({ limit: 20 })).tasks).toHaveLength(tasks.length);
  await Promise.all(stores.map((store) => store.close()));
  expect(await versionsOf(schema)).toEqual([1]);
});

test("tables of a newer release are refused and left as they are", async () => {
  const schema = fresh();
  const store = new PostgresStore({ url, schema });
  await store.open();
  await store.close();
  await asAdmin(url, (client) => client.query(`INSERT INTO ${schema}.migrations (version) VALUES (99)`));
  await expect(store.open()).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringMatching(/version 99; this release of @claimcheck\/postgres knows 1\. Upgrade it/),
  });
  expect(await versionsOf(schema)).toEqual([1, 99]);
});

test("a migration that fails leaves nothing of itself", async () => {
  const schema = fresh();
  await asAdmin(url, async (client) => {
    await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`CREATE TABLE ${schema}.tasks (somebody text)`);
  });
  const store = new PostgresStore({ url, schema });
  await expect(store.open()).rejects.toThrow('relation "tasks" already exists');
  const tables = "SELECT tablename FROM pg_tables WHERE schemaname = $1";
  const left = await asAdmin(url, async (client) => (await client.query(tables, [schema])).rows);
  expect(left).toEqual([{ tablename: "tasks" }]);
  await asAdmin(url, (client) => client.query(`DROP TABLE ${schema}.tasks`));
  await store.open();
  await store.close();
});

async function versionsOf(schema: string): Promise<number[]> {
  const versions = `SELECT version FROM ${schema}.migrations ORDER BY version`;
  return asAdmin(url, async (client) => (await client.query(versions)).rows.map((row) => row.version));
}
