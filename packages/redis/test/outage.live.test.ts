import { randomBytes } from "node:crypto";
import type { TaskRecord } from "@claimcheck/core";
import { RedisStore, type RedisStoreOptions } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import {
  isAnswered,
  listenerIsReplaced,
  type OpenedStore,
  openProxy,
  outageCases,
} from "../../../test/fixtures/outages.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type RedisServer, startRedis } from "../../../test/services/redis.js";
import { asAdmin, killConnections, storeConnections } from "./admin.js";

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis(["--appendfsync", "always"]);
});
afterAll(() => server.remove());

interface Opened extends OpenedStore {
  store: RedisStore;
}

async function openStore(options: RedisStoreOptions = {}): Promise<Opened> {
  const prefix = options.prefix ?? `outage_${randomBytes(8).toString("hex")}`;
  const logger = recordLog();
  const where = options.client === undefined ? { url: server.url } : {};
  const store = new RedisStore({ ...where, prefix, logger, ...options });
  onTestFinished(() => store.close());
  await store.open();
  return { store, log: logger.lines, openAnother: async () => (await openStore({ prefix })).store };
}

outageCases({
  name: "Redis",
  unreachable: /Redis at 127\.0\.0\.1:\d+: cannot be reached \(.+\)/,
  openStore,
  serverUrl: () => server.url,
  killConnections: () => killConnections(server.url),
  crash: () => server.stop("SIGKILL"),
  start: () => server.start(),
});

test("an update whose answer is lost rejects, and the record tells what became of it", async () => {
  const { proxy, url } = await openProxy(server.url);
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
  const { proxy, url } = await openProxy(server.url);
  const { store } = await openStore({ url, signals: false });
  const task = await store.create(workingTask());
  proxy.swallow({ toServer: true });
  const updating = store.update(task.taskId, 1, completion()).catch((error: Error) => error);
  setTimeout(() => proxy.cut(), 50);
  expect(String(await updating)).toContain("cannot be reached");
  proxy.swallow({});
  expect(await store.get(task.taskId)).toEqual(task);
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
  await eventually(() => isAnswered(store.create(workingTask())));
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

test("a listening connection whose packets vanish is noticed by its time-out of commands, and replaced", async () => {
  const { proxy, url } = await openProxy(server.url);
  const timing = { heartbeatMs: 3000, connectTimeoutMs: 2000, commandTimeoutMs: 1000 };
  await listenerIsReplaced(proxy, await openStore({ url, ...timing }));
});

test("a listening connection that breaks while it subscribes anew harms nobody, and comes back", async () => {
  const { proxy, url } = await openProxy(server.url);
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => 10 });
  onTestFinished(() => client.disconnect());
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
  const { proxy, url } = await openProxy(server.url);
  const { store } = await openStore({ url, signals: false, commandTimeoutMs: 1500 });
  proxy.swallow({ toServer: true, toClient: true });
  await expect(store.get("tsk_any")).rejects.toThrow(/cannot be reached \((Command timed out|Socket timeout)/);
  await eventually(() => proxy.accepted > 1);
  proxy.swallow({});
  await eventually(() => isAnswered(store.get("tsk_any")));
});

test("a store has two connections, however many wait", async () => {
  const { store } = await openStore();
  const stops = Array.from({ length: 300 }, () => store.signals?.subscribe(() => {}));
  await Promise.all(Array.from({ length: 50 }, () => store.create(workingTask())));
  // Those of other tests may be on their way out.
  await eventually(async () => (await storeConnections(server.url)).length === 2);
  for (const stop of stops) stop?.();
  await store.close();
  await eventually(async () => (await storeConnections(server.url)).length === 0);
});
