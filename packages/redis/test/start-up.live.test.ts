import { randomBytes } from "node:crypto";
import { RedisStore, type RedisStoreOptions } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { expect, inject, onTestFinished, test } from "vitest";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { unusableAs } from "../../../test/fixtures/refusal.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { freePort } from "../../../test/services/free-port.js";
import { type RedisServer, startRedis } from "../../../test/services/redis.js";
import { asAdmin } from "./admin.js";

const { url } = inject("redis");
const fresh = (): string => `start_${randomBytes(8).toString("hex")}`;

async function openServer(...settings: string[]): Promise<RedisServer> {
  const server = await startRedis(settings);
  onTestFinished(() => server.remove());
  return server;
}

async function openStore(options: RedisStoreOptions): Promise<RedisStore> {
  const store = new RedisStore({ prefix: fresh(), ...options });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

const refusal = (options: RedisStoreOptions) => unusableAs(openStore(options));

test("a wrong password is named as the cause, and never shown", async () => {
  const { port } = await openServer("--requirepass", "right");
  const message = await refusal({ url: `redis://:wr0ng-secret@127.0.0.1:${port}` });
  expect(message).toMatch(new RegExp(`^Redis at 127\\.0\\.0\\.1:${port}: WRONGPASS`));
  expect(message).toContain("Check user and password in the URL.");
  expect(message).not.toContain("wr0ng");
  await openStore({ url: `redis://:right@127.0.0.1:${port}` });
});

test("a password that is missing is named as the cause", async () => {
  const server = await openServer("--requirepass", "right");
  expect(await refusal({ url: server.url })).toContain("NOAUTH");
});

test("a server that is not there is named as the cause, with its address", async () => {
  const port = await freePort();
  const message = await refusal({ url: `redis://127.0.0.1:${port}` });
  expect(message).toContain(`Redis at 127.0.0.1:${port}: cannot be reached (connect ECONNREFUSED 127.0.0.1:${port})`);
  expect(message).toContain("Check host and port in the URL, and that the server runs.");
});

test.each([
  ["nothing", undefined],
  ["another scheme", "http://ada:s3cret@host"],
  ["a broken escape", "redis://ada:s3cret%zz@host"],
  ["no URL at all", "s3cret"],
])("a URL of %s is refused without showing it", async (_what, broken) => {
  const message = await refusal(broken === undefined ? {} : { url: broken });
  expect(message).toMatch(/needs either a URL or a client|looks like redis:\/\/user:password@host:6379/);
  expect(message).not.toContain("s3cret");
});

test.each(["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"])(
  "a server that evicts by %s is refused, with the setting to change",
  async (policy) => {
    const server = await openServer("--maxmemory-policy", policy);
    const message = await refusal({ url: server.url });
    expect(message).toContain(`its maxmemory-policy is ${policy}. Set it to noeviction`);
    await asAdmin(server.url, (client) => client.config("SET", "maxmemory-policy", "noeviction"));
    await openStore({ url: server.url });
  },
);

test("the check of the policy works where CONFIG is forbidden", async () => {
  const server = await openServer("--maxmemory-policy", "allkeys-lru", "--rename-command", "CONFIG", "");
  expect(await refusal({ url: server.url })).toContain("maxmemory-policy is allkeys-lru");
});

test("a read-only replica is refused, with its primary's address", async () => {
  const primary = await openServer();
  const replica = await openServer("--replicaof", `127.0.0.1 ${primary.port}`);
  const message = await refusal({ url: replica.url });
  expect(message).toContain(`read-only replica of 127.0.0.1:${primary.port}; connect to that one`);
  await asAdmin(replica.url, (client) => client.replicaof("NO", "ONE"));
  await openStore({ url: replica.url });
});

test("a server without an append-only file is used with a warning that names the setting", async () => {
  const server = await openServer("--appendonly", "no");
  const logger = recordLog();
  await openStore({ url: server.url, logger });
  expect(logger.lines).toContainEqual(
    expect.objectContaining({ level: "warn", message: expect.stringContaining("(appendonly)") }),
  );
});

test("a user confined to the prefix can do all that the store does", async () => {
  const prefix = fresh();
  const server = await openServer();
  const rules = ["on", ">secret", `~{${prefix}}:*`, `&{${prefix}}:*`, "+@all", "-@admin", "-@dangerous", "+info"];
  await asAdmin(server.url, (client) => client.call("ACL", "SETUSER", "confined", ...rules));
  const store = await openStore({ url: `redis://confined:secret@127.0.0.1:${server.port}`, prefix });
  const task = await store.create(workingTask({ ttlMs: 0, idempotencyKey: "key" }));
  expect(await store.findByKey("ada", "key")).toEqual(task);
  expect((await store.list({ owner: "ada", limit: 1 })).tasks).toHaveLength(1);
  await store.update(task.taskId, 1, completion(await store.now()));
  expect(await store.sweep(10)).toBe(1);
  expect(store.health).toEqual({ state: "ok", signals: "connected" });
  expect(await asAdmin(server.url, (client) => client.keys("*"))).toEqual([]);
});

test("a server that does not say its policy is used with a warning of what is not known", async () => {
  const prefix = fresh();
  const server = await openServer();
  const rules = ["on", ">secret", `~{${prefix}}:*`, `&{${prefix}}:*`, "+@all", "-info"];
  await asAdmin(server.url, (client) => client.call("ACL", "SETUSER", "confined", ...rules));
  const logger = recordLog();
  const store = await openStore({ url: `redis://confined:secret@127.0.0.1:${server.port}`, prefix, logger });
  await store.create(workingTask());
  expect(logger.lines).toContainEqual(
    expect.objectContaining({ level: "warn", message: expect.stringContaining("maxmemory-policy") }),
  );
});

test("prefixes do not see each other", async () => {
  const stores = await Promise.all([fresh(), fresh()].map((prefix) => openStore({ url, prefix })));
  const heard: (string | null)[][] = [[], []];
  stores.forEach((store, at) => void store.signals?.subscribe((taskId) => heard[at]?.push(taskId)));
  const tasks = await Promise.all(stores.map((store) => store.create(workingTask({ idempotencyKey: "key" }))));
  for (const [at, store] of stores.entries()) {
    expect((await store.list({ limit: 5 })).tasks.map(({ taskId }) => taskId)).toEqual([tasks[at]?.taskId]);
    store.signals?.publish(String(tasks[at]?.taskId));
  }
  await expect.poll(() => heard.map((each) => each.length)).toEqual([1, 1]);
  expect(heard).toEqual(tasks.map(({ taskId }) => [taskId]));
});

test("a client that is handed in is used, shared and left open", async () => {
  const client = new Redis(url, { lazyConnect: true });
  const [a, b] = [new RedisStore({ client, prefix: fresh() }), new RedisStore({ client, prefix: fresh() })];
  await a.open();
  await b.open();
  const task = await a.create(workingTask());
  expect(await a.get(task.taskId)).toEqual(task);
  expect(await b.get(task.taskId)).toBeNull();
  await Promise.all([a.close(), b.close()]);
  expect(await client.ping()).toBe("PONG");
  client.disconnect();
});

test("a client with a keyPrefix is refused, as scripts would not see it", async () => {
  const client = new Redis(url, { lazyConnect: true, keyPrefix: "mine:" });
  expect(await refusal({ client })).toContain("leave it out and give the store a prefix");
  client.disconnect();
});

test("a store that is not open says so", async () => {
  const store = new RedisStore({ url });
  await expect(store.get("tsk_any")).rejects.toThrow("The Redis store is not open.");
  expect(store.health).toEqual({ state: "closed", signals: "off" });
});
