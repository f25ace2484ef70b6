import { randomBytes } from "node:crypto";
import { PostgresStore, type PostgresStoreOptions } from "@claimcheck/postgres";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { isAnswered, type OpenedStore, openProxy, outageCases } from "../../../test/fixtures/outages.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type PostgresServer, startPostgres } from "../../../test/services/postgres.js";
import { asAdmin, countConnections, killConnections } from "./admin.js";

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

interface Opened extends OpenedStore {
  store: PostgresStore;
  schema: string;
}

async function openStore(options: PostgresStoreOptions = {}): Promise<Opened> {
  const schema = options.schema ?? `outage_${randomBytes(8).toString("hex")}`;
  const logger = recordLog();
  const store = new PostgresStore({ url: server.url, schema, logger, poolSize: 3, ...options });
  onTestFinished(() => store.close());
  await store.open();
  return { store, schema, log: logger.lines, openAnother: async () => (await openStore({ schema })).store };
}

/** Runs `during` while nobody else can touch the schema's tasks. */
async function whileLocked(schema: string, during: (release: () => Promise<unknown>) => Promise<void>): Promise<void> {
  await asAdmin(server.url, async (client) => {
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${schema}.tasks IN ACCESS EXCLUSIVE MODE`);
    await during(() => client.query("ROLLBACK"));
  });
}

async function untilWaiting(): Promise<void> {
  const waiting = "SELECT FROM pg_stat_activity WHERE application_name = 'claimcheck' AND wait_event_type = 'Lock'";
  await eventually(() => asAdmin(server.url, async (client) => (await client.query(waiting)).rows.length > 0));
}

outageCases({
  name: "PostgreSQL",
  unreachable: /PostgreSQL at 127\.0\.0\.1:\d+\/postgres: /,
  openStore,
  serverUrl: () => server.url,
  killConnections: () => killConnections(server.url),
  crash: () => server.stop("immediate"),
  start: () => server.start(),
});

test("a server that cannot be reached is spoken of without its password", async () => {
  const { store, log } = await openStore();
  await server.stop("immediate");
  const failed = await store.get("tsk_any").catch((error: Error) => error.message);
  await server.start();
  await eventually(() => isAnswered(store.get("tsk_any")));
  expect(failed).toContain("127.0.0.1");
  for (const said of [failed, JSON.stringify(log)]) expect(said).not.toContain(server.password);
});

test("a create whose connection is cut is carried out once", async () => {
  const { store, schema } = await openStore();
  const record = workingTask();
  await whileLocked(schema, async (release) => {
    const creating = store.create(record);
    await untilWaiting();
    await killConnections(server.url);
    await release();
    expect(await creating).toEqual(record);
  });
  expect((await store.list({ limit: 5 })).tasks).toHaveLength(1);
});

test("an update whose connection is cut rejects and has changed nothing", async () => {
  const { store, schema } = await openStore();
  const task = await store.create(workingTask());
  await whileLocked(schema, async (release) => {
    const updating = store.update(task.taskId, 1, completion()).catch((error: Error) => error);
    await untilWaiting();
    await killConnections(server.url);
    await release();
    expect(String(await updating)).toMatch(/PostgreSQL at 127\.0\.0\.1:\d+\/postgres: /);
  });
  expect(await store.get(task.taskId)).toEqual(task);
  expect(await store.update(task.taskId, 1, completion())).toMatchObject({ status: "completed", version: 2 });
});

test("a server that turns read-only refuses writes with the reason, and reads go on", async () => {
  const { store } = await openStore();
  const task = await store.create(workingTask());
  const readOnly = (value: "on" | "off") =>
    asAdmin(server.url, async (client) => {
      await client.query("SET default_transaction_read_only = off");
      await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await client.query("SELECT pg_reload_conf()");
    });
  await readOnly("on");
  try {
    const refused: Error = await eventually(() =>
      store.create(workingTask()).then(
        () => undefined,
        (error: Error) => error,
      ),
    );
    expect(refused.message).toContain("read-only transaction");
    expect(await store.get(task.taskId)).toEqual(task);
  } finally {
    await readOnly("off");
  }
  await eventually(() => isAnswered(store.create(workingTask())));
});

test("a statement whose answer never comes is given up, and its connection with it", async () => {
  const { proxy, url } = await openProxy(server.url);
  const { store } = await openStore({ url, signals: false, queryTimeoutMs: 1500 });
  await store.get("tsk_any");
  proxy.swallow({ toServer: true, toClient: true });
  await expect(store.get("tsk_any")).rejects.toThrow(/timeout/);
  proxy.swallow({});
  const before = proxy.accepted;
  expect(await store.get("tsk_any")).toBeNull();
  expect(proxy.accepted).toBeGreaterThan(before);
});

test("whoever waits takes no connection from those who ask", async () => {
  const { store } = await openStore({ poolSize: 1 });
  const stops = Array.from({ length: 300 }, () => store.signals?.subscribe(() => {}));
  const task = await store.create(workingTask());
  expect(await store.get(task.taskId)).toEqual(task);
  // Those of other tests may be on their way out.
  await eventually(async () => (await countConnections(server.url)) === 2);
  for (const stop of stops) stop?.();
});

test("closing gives up every connection", async () => {
  const { store } = await openStore();
  await Promise.all(Array.from({ length: 10 }, () => store.create(workingTask())));
  await store.close();
  await eventually(async () => (await countConnections(server.url)) === 0);
});
