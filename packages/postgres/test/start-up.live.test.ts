import { randomBytes } from "node:crypto";
import { PostgresStore, type PostgresStoreOptions } from "@claimcheck/postgres";
import { Pool } from "pg";
import { expect, inject, test, vi } from "vitest";
import { unusableAs } from "../../../test/fixtures/refusal.js";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { freePort } from "../../../test/services/free-port.js";
import { asAdmin } from "./admin.js";

const { url } = inject("postgres");
const fresh = (): string => `start_${randomBytes(8).toString("hex")}`;

const open = async (options: PostgresStoreOptions) => new PostgresStore({ schema: fresh(), ...options }).open();
const refusal = (options: PostgresStoreOptions) => unusableAs(open(options));

function urlOf(change: (url: URL) => void): string {
  const changed = new URL(url);
  change(changed);
  return changed.href;
}

test("a wrong password is named as the cause, and never shown", async () => {
  const message = await refusal({ url: urlOf((to) => Object.assign(to, { password: "wr0ng-secret" })) });
  expect(message).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: password authentication failed/);
  expect(message).toContain("Check user and password in the URL");
  expect(message).not.toContain("wr0ng");
});

test("a server that is not there is named as the cause, with its address", async () => {
  const port = String(await freePort());
  const message = await refusal({ url: urlOf((to) => Object.assign(to, { port })) });
  expect(message).toContain(`PostgreSQL at 127.0.0.1:${port}/postgres: connect ECONNREFUSED`);
  expect(message).toContain("Check host and port in the URL, and that the server runs.");
});

test("a database that is not there is named as the cause", async () => {
  const message = await refusal({ url: urlOf((to) => Object.assign(to, { pathname: "/nowhere" })) });
  expect(message).toContain('database "nowhere" does not exist. Create the database');
});

test.each([
  ["nothing", undefined],
  ["another scheme", "mysql://ada:s3cret@host/db"],
  ["a broken escape", "postgres://ada:s3cret%zz@host/db"],
  ["no URL at all", "s3cret"],
])("a URL of %s is refused without showing it", async (_what, broken) => {
  const message = await refusal(broken === undefined ? {} : { url: broken });
  expect(message).toMatch(/needs either a URL or a pool|looks like postgres:\/\/user:password@host:5432\/database/);
  expect(message).not.toContain("s3cret");
});

test.each([
  ["empty", ""],
  ["longer than PostgreSQL keeps", "s".repeat(64)],
  ["with a NUL", "a\0b"],
])("a schema's name that is %s is refused", async (_what, schema) => {
  expect(await refusal({ url, schema })).toContain("has no usable name: 1 to 63 bytes without NUL are");
});

test("a user whose transactions are read-only is refused, with the setting to change", async () => {
  const user = await roleWith("SET default_transaction_read_only = on", "CREATE");
  expect(await refusal({ url: user })).toContain("set default_transaction_read_only to off");
});

test("a user who may create nothing is refused, with the right to grant", async () => {
  expect(await refusal({ url: await roleWith("SET work_mem = '4MB'") })).toContain("Grant the user CREATE");
});

test("a user who may create nothing opens a schema that is up to date", async () => {
  const schema = fresh();
  const owner = new PostgresStore({ url, schema });
  await owner.open();
  await owner.close();
  const user = await roleWith("SET work_mem = '4MB'");
  await asAdmin(url, async (client) => {
    await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${new URL(user).username}`);
    await client.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${new URL(user).username}`,
    );
  });
  const store = new PostgresStore({ url: user, schema });
  await store.open();
  const task = await store.create(workingTask());
  expect(await store.get(task.taskId)).toEqual(task);
  await store.close();
});

test("a store that could not be opened opens once the fault is put right", async () => {
  const user = await roleWith("SET default_transaction_read_only = on", "CREATE");
  const store = new PostgresStore({ url: user, schema: fresh() });
  await expect(store.open()).rejects.toThrow("read-only");
  await asAdmin(url, (client) =>
    client.query(`ALTER ROLE ${new URL(user).username} SET default_transaction_read_only = off`),
  );
  await store.open();
  expect(store.health).toEqual({ state: "ok", signals: "connected" });
  await store.close();
});

test("any name will do for a schema, and schemas do not see each other", async () => {
  const suffix = randomBytes(4).toString("hex");
  const names = [`Ünïcode "quoted" ${suffix}`, `ünïcode "quoted" ${suffix}`, `a.b;--'${suffix}`, `{schema}${suffix}`];
  const stores = names.map((schema) => new PostgresStore({ url, schema, poolSize: 2 }));
  await Promise.all(stores.map((store) => store.open()));
  const heard: string[] = [];
  for (const store of stores) {
    store.signals?.subscribe((taskId) => heard.push(`${names[stores.indexOf(store)]}: ${taskId}`));
  }
  for (const store of stores) {
    const task = await store.create(workingTask({ owner: names[stores.indexOf(store)] ?? "", idempotencyKey: "key" }));
    expect((await store.list({ limit: 10 })).tasks.map(({ taskId }) => taskId)).toEqual([task.taskId]);
    store.signals?.publish(task.taskId);
  }
  await expect.poll(() => heard.length).toBe(stores.length);
  expect(new Set(heard.map((each) => each.split(": ")[0]))).toEqual(new Set(names));
  await Promise.all(stores.map((store) => store.close()));
});

test("a pool that is handed in is used, shared and left open", async () => {
  const pool = new Pool({ connectionString: url, max: 2, application_name: "shared pool" });
  const [a, b] = [new PostgresStore({ pool, schema: fresh() }), new PostgresStore({ pool, schema: fresh() })];
  await Promise.all([a.open(), b.open()]);
  const task = await a.create(workingTask());
  expect(await b.get(task.taskId)).toBeNull();
  expect(await a.get(task.taskId)).toEqual(task);
  await Promise.all([a.close(), b.close()]);
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  expect(pool.listenerCount("error")).toBe(0);
  await pool.end();
});

test("a pool that cannot be ended is listened to no longer all the same", async () => {
  const store = new PostgresStore({ url, schema: fresh() });
  await store.open();
  const end = vi.spyOn(Pool.prototype, "end").mockRejectedValueOnce(new Error("not ended"));
  await expect(store.close()).rejects.toThrow("not ended");
  const pool = end.mock.contexts[0] as Pool;
  end.mockRestore();
  await pool.end();
  expect(pool.listenerCount("error")).toBe(0);
});

test("a store that is not open says so", async () => {
  const store = new PostgresStore({ url, schema: fresh() });
  await expect(store.get("tsk_any")).rejects.toThrow("The PostgreSQL store is not open.");
  expect(store.health).toEqual({ state: "closed", signals: "off" });
});

/** The URL of a new user with a setting, who is granted rights on the database. */
async function roleWith(setting: string, right?: "CREATE"): Promise<string> {
  const role = `role_${randomBytes(6).toString("hex")}`;
  await asAdmin(url, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await client.query(`ALTER ROLE ${role} ${setting}`);
    if (right !== undefined) await client.query(`GRANT ${right} ON DATABASE postgres TO ${role}`);
  });
  return urlOf((to) => Object.assign(to, { username: role, password: "secret" }));
}
