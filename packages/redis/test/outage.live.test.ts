import { randomBytes } from "node:crypto";
import type { TaskRecord } from "@claimcheck/core";
import { RedisStore, type RedisStoreOptions } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { type LogLine, recordLog } from "../../../test/fixtures/log-recorder.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type RedisServer, startRedis } from "../../../test/services/redis.js";
import { startTcpProxy, type TcpProxy } from "../../../test/services/tcp-proxy.js";
import { asAdmin, killConnections, storeConnections } from "./admin.js";

let server: RedisServer;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startRedis(["--appendfsync", "always"]);
});
afterAll(() => server.remove());
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Opened {
  store: RedisStore;
  prefix: string;
  log: LogLine[];
}

async function openStore(options: RedisStoreOptions = {}): Promise<Opened> {
  const prefix = options.prefix ?? `outage_${randomBytes(8).toString("hex")}`;
  const logger = recordLog();
  const where = options.client === undefined ? { url: server.url } : {};
  const store = new RedisStore({ ...where, prefix, logger, ...options });
  closing.push(() => store.close());
  await store.open();
  return { store, prefix, log: logger.lines };
}

async function openProxy(): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = await startTcpProxy(server.port);
  closing.push(() => proxy.close());
  return { proxy, url: `redis://127.0.0.1:${proxy.port}` };
}

test("idle connections that the server closes are replaced, and no error is said", async () => {
  const { store, log } = await openStore();
  const task = await store.create(workingTask());
  await killConnections(server.url);
  expect(await store.get(task.taskId)).toEqual(task);
  await eventually(() => store.health.state === "ok");
  expect(log.filter((line) => line.level === "error")).toEqual([]);
  expect(log.filter((line) => line.level === "warn").length).toBeLessThanOrEqual(2);
});

test("a create whose answer is lost is carried out once, with a key and without one", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false });
  await store.create(workingTask({ owner: "warm-up" }));
  for (const record of [workingTask(), workingTask({ idempotencyKey: "key" })]) {
    proxy.swallow({ toClient: true });
    const creating = store.create(record);
    await proxy.nextAnswer();
    proxy.swallow({});
    proxy.cut();
    expect(await creating).toEqual(record);
  }
  expect((await store.list({ owner: "ada", limit: 5 })).tasks).toHaveLength(2);
});

test("an update whose answer is lost rejects, and the record tells what became of it", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false });
  const created = await store.create(workingTask());
  // The first use of a script takes two messages; only the last one's answer is to be lost.
  const task = (await store.update(created.taskId, 1, { statusMessage: "half way" })) as TaskRecord;
  proxy.swallow({ toClient: true });
  const updating = store.update(task.taskId, 2, completion()).catch((error: Error) => error);
  await proxy.nextAnswer();
  proxy.swallow({});
  proxy.cut();
  expect(String(await updating)).toMatch(/Redis at 127\.0\.0\.1:\d+: cannot be reached/);
  expect(await store.get(task.taskId)).toMatchObject({ status: "completed", version: 3 });
});

test("an update that does not reach the server rejects and has changed nothing", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false });
  const task = await store.create(workingTask());
  proxy.swallow({ toServer: true });
  const updating = store.update(task.taskId, 1, completion()).catch((error: Error) => error);
  setTimeout(() => proxy.cut(), 50);
  expect(String(await updating)).toContain("cannot be reached");
  proxy.swallow({});
  expect(await store.get(task.taskId)).toEqual(task);
});

test("while the server is down every call rejects soon, and works again when it is back", async () => {
  const { store, log } = await openStore();
  const task = await store.create(workingTask());
  await server.stop("SIGKILL");
  for (let n = 0; n < 5; n += 1) {
    const startedAt = Date.now();
    await expect(store.get(task.taskId)).rejects.toThrow(/Redis at 127\.0\.0\.1:\d+: cannot be reached \(.+\)/);
    expect(Date.now() - startedAt).toBeLessThan(4000);
  }
  expect(store.health).toEqual({ state: "down", signals: "reconnecting" });
  await server.start();
  await eventually(() => store.get(task.taskId).then(Boolean, () => false));
  expect(await store.get(task.taskId)).toEqual(task);
  await eventually(() => store.health.state === "ok");
  expect(log.filter((line) => line.level === "warn").length).toBeLessThanOrEqual(3);
});

test("what was acknowledged is there after a crash of a server that syncs every write", async () => {
  const { store } = await openStore();
  const acknowledged: string[] = [];
  const writers = Array.from({ length: 4 }, async () => {
    for (let n = 0; n < 10_000; n += 1) acknowledged.push((await store.create(workingTask())).taskId);
  });
  const ended = Promise.allSettled(writers);
  await eventually(() => acknowledged.length > 100);
  await server.stop("SIGKILL");
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

test("scripts are sent anew to a server that has forgotten them", async () => {
  const { store } = await openStore();
  await store.create(workingTask());
  await asAdmin(server.url, (client) => client.script("FLUSH"));
  const task = await store.create(workingTask());
  expect(await store.get(task.taskId)).toEqual(task);
});

test("a server that turns into a replica refuses writes with the reason, and takes them when it is a primary again", async () => {
  const { store } = await openStore();
  await asAdmin(server.url, (client) => client.replicaof("127.0.0.1", 1));
  try {
    await expect(store.create(workingTask())).rejects.toThrow(
      "The server is a read-only replica; connect to its primary.",
    );
  } finally {
    await asAdmin(server.url, (client) => client.replicaof("NO", "ONE"));
  }
  await eventually(() =>
    store.create(workingTask()).then(
      () => true,
      () => false,
    ),
  );
});

test("a server that is full refuses new tasks whole, and says what to raise", async () => {
  const { store } = await openStore();
  const task = await store.create(workingTask());
  await asAdmin(server.url, (client) => client.config("SET", "maxmemory", "1"));
  const refused = workingTask({ idempotencyKey: "key" });
  try {
    await expect(store.create(refused)).rejects.toThrow("Raise maxmemory on the server");
    expect(await store.get(task.taskId)).toEqual(task);
    await expect(store.update(task.taskId, 1, completion())).rejects.toThrow("Raise maxmemory on the server");
  } finally {
    await asAdmin(server.url, (client) => client.config("SET", "maxmemory", "0"));
  }
  expect(await store.get(refused.taskId)).toBeNull();
  expect(await store.findByKey("ada", "key")).toBeNull();
  expect(await store.get(task.taskId)).toEqual(task);
  expect((await store.list({ limit: 5 })).tasks).toHaveLength(1);
});

test("a listening connection that is killed comes back, and listeners look once", async () => {
  const { store, log } = await openStore();
  const heard: (string | null)[] = [];
  store.signals?.subscribe((taskId) => heard.push(taskId));
  await killConnections(server.url);
  await eventually(() => heard.includes(null));
  store.signals?.publish("tsk_after");
  await eventually(() => heard.includes("tsk_after"));
  expect(log.map((line) => line.message)).toContain("Redis's notifications can be reached again");
});

test.each([
  ["heartbeat", 2000],
  ["time-out of commands", 100],
])(
  "a listening connection whose packets vanish is noticed by its %s, and replaced",
  async (_what, commandTimeoutMs) => {
    const { proxy, url } = await openProxy();
    const { store, prefix } = await openStore({ url, heartbeatMs: 300, connectTimeoutMs: 500, commandTimeoutMs });
    const { store: other } = await openStore({ prefix });
    const heard: (string | null)[] = [];
    store.signals?.subscribe((taskId) => heard.push(taskId));
    proxy.swallow({ toServer: true, toClient: true });
    await eventually(() => store.health.signals === "reconnecting");
    other.signals?.publish("tsk_missed");
    proxy.swallow({});
    await eventually(() => heard.includes(null));
    other.signals?.publish("tsk_after");
    await eventually(() => heard.includes("tsk_after"));
  },
);

test("a listening connection that breaks while it subscribes anew harms nobody, and comes back", async () => {
  const { proxy, url } = await openProxy();
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => 10 });
  closing.push(async () => client.disconnect());
  const duplicate = client.duplicate.bind(client);
  let breaks = 3;
  client.duplicate = (override) => {
    const listening = duplicate(override);
    // Subscribed by then, and not answered yet.
    const isBack = (): void => {
      if (isSubscribed && breaks-- > 0) proxy.cut();
    };
    return listening.on("ready", isBack);
  };
  let isSubscribed = false;
  const { store } = await openStore({ client });
  isSubscribed = true;
  // What nobody handles fails the run: it would have ended the process.
  proxy.cut();
  await eventually(() => breaks < 0 && store.health.signals === "connected");
});

test("a command whose answer never comes is given up, and its connection with it", async () => {
  const { proxy, url } = await openProxy();
  const { store } = await openStore({ url, signals: false, commandTimeoutMs: 300 });
  proxy.swallow({ toServer: true, toClient: true });
  await expect(store.get("tsk_any")).rejects.toThrow(/cannot be reached \((Command timed out|Socket timeout)/);
  await eventually(() => proxy.accepted > 1);
  proxy.swallow({});
  await eventually(() =>
    store.get("tsk_any").then(
      (task) => task === null,
      () => false,
    ),
  );
});

test("a store has two connections, however many wait", async () => {
  const { store } = await openStore();
  const stops = Array.from({ length: 300 }, () => store.signals?.subscribe(() => {}));
  await Promise.all(Array.from({ length: 50 }, () => store.create(workingTask())));
  expect(await storeConnections(server.url)).toHaveLength(2);
  for (const stop of stops) stop?.();
  await store.close();
  await eventually(async () => (await storeConnections(server.url)).length === 0);
});

test("closing works while the server is away", async () => {
  const { store } = await openStore();
  await server.stop("SIGKILL");
  await store.close();
  await server.start();
});
