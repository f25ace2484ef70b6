import { randomBytes } from "node:crypto";
import { PostgresStore, type PostgresStoreOptions } from "@claimcheck/postgres";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { type LogLine, recordLog } from "../../../test/fixtures/log-recorder.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type PostgresServer, startPostgres } from "../../../test/services/postgres.js";
import { startTcpProxy, type TcpProxy } from "../../../test/services/tcp-proxy.js";
import { asAdmin, countConnections, killConnections } from "./admin.js";

let server: PostgresServer;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Opened {
  store: PostgresStore;
  schema: string;
  log: LogLine[];
}

async function openStore(options: PostgresStoreOptions = {}): Promise<Opened> {
  const schema = options.schema ?? `outage_${randomBytes(8).toString("hex")}`;
  const logger = recordLog();
  const store = new PostgresStore({ url: server.url, schema, logger, poolSize: 3, ...options });
  closing.push(() => store.close());
  await store.open();
  return { store, schema, log: logger.lines };
}

async function openProxy(): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = await startTcpProxy(server.port);
  closing.push(() => proxy.close());
  return { proxy, url: server.url.replace(`:${server.port}`, `:${proxy.port}`) };
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

test("idle connections that the server closes are replaced, and nothing is said but one warning", async () => {
  const { store, log } = await openStore();
  const task = await store.create(workingTask());
  await killConnections(server.url);
  expect(await store.get(task.taskId)).toEqual(task);
  await eventually(() => store.health.state === "ok");
  expect(log.filter((line) => line.level === "error")).toEqual([]);
  expect(log.filter((line) => line.level === "warn").length).toBeLessThanOrEqual(2);
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

test("an answer that is lost after the commit loses no task and makes none twice", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false });
  const record = workingTask();
  await store.get(record.taskId);
  proxy.swallow({ toClient: true });
  const creating = store.create(record);
  await proxy.nextAnswer();
  proxy.swallow({});
  proxy.cut();
  expect(await creating).toEqual(record);
  expect((await store.list({ limit: 5 })).tasks).toHaveLength(1);
});

test("while the server is down every call rejects soon, and works again when it is back", async () => {
  const { store, log } = await openStore();
  const task = await store.create(workingTask());
  await server.stop("immediate");
  for (let n = 0; n < 20; n += 1) {
    const startedAt = Date.now();
    await expect(store.get(task.taskId)).rejects.toThrow(/PostgreSQL at 127\.0\.0\.1:\d+\/postgres: /);
    expect(Date.now() - startedAt).toBeLessThan(2000);
  }
  expect(store.health).toEqual({ state: "down", signals: "reconnecting" });
  await server.start();
  await eventually(() => store.get(task.taskId).then(Boolean, () => false));
  expect(await store.get(task.taskId)).toEqual(task);
  await eventually(() => store.health.signals === "connected");
  expect(store.health.state).toBe("ok");
  const said = log.map(({ level, message }) => `${level}: ${message}`);
  expect(said.filter((line) => line.startsWith("warn")).length).toBeLessThanOrEqual(4);
  expect(JSON.stringify(log)).not.toContain(server.password);
});

test("what was acknowledged is there after a crash of the server", async () => {
  const { store } = await openStore();
  const acknowledged: string[] = [];
  const writers = Array.from({ length: 4 }, async () => {
    for (let n = 0; n < 1000; n += 1) acknowledged.push((await store.create(workingTask())).taskId);
  });
  const ended = Promise.allSettled(writers);
  await eventually(() => acknowledged.length > 50);
  await server.stop("immediate");
  await ended;
  await server.start();
  await eventually(() =>
    store.get("tsk_any").then(
      () => true,
      () => false,
    ),
  );
  for (const taskId of acknowledged) expect(await store.get(taskId)).toMatchObject({ taskId });
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
  await eventually(() =>
    store.create(workingTask()).then(
      () => true,
      () => false,
    ),
  );
});

test("a listening connection that is killed comes back, and listeners look once", async () => {
  const { store, log } = await openStore();
  const heard: (string | null)[] = [];
  store.signals?.subscribe((taskId) => heard.push(taskId));
  await killConnections(server.url);
  await eventually(() => heard.includes(null));
  store.signals?.publish("tsk_after");
  await eventually(() => heard.includes("tsk_after"));
  expect(log.map((line) => line.message)).toContain("PostgreSQL's notifications can be reached again");
});

test("a listening connection whose packets vanish is noticed and replaced", async () => {
  const { proxy, url } = await openProxy();
  const { store, schema } = await openStore({ url, heartbeatMs: 200, connectTimeoutMs: 500 });
  const { store: other } = await openStore({ schema });
  const heard: (string | null)[] = [];
  store.signals?.subscribe((taskId) => heard.push(taskId));
  proxy.swallow({ toServer: true, toClient: true });
  await eventually(() => store.health.signals === "reconnecting");
  other.signals?.publish("tsk_missed");
  proxy.swallow({});
  await eventually(() => heard.includes(null));
  other.signals?.publish("tsk_after");
  await eventually(() => heard.includes("tsk_after"));
});

test("a statement whose answer never comes is given up, and its connection with it", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false, queryTimeoutMs: 300, connectTimeoutMs: 300 });
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
  expect(await countConnections(server.url)).toBe(2);
  for (const stop of stops) stop?.();
});

test("closing gives up every connection, also while the server is away", async () => {
  const { store } = await openStore();
  await Promise.all(Array.from({ length: 10 }, () => store.create(workingTask())));
  await store.close();
  await eventually(async () => (await countConnections(server.url)) === 0);
  const { store: other } = await openStore();
  await server.stop("immediate");
  await other.close();
  await server.start();
});
