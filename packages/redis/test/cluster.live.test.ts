import { RedisStore } from "@claimcheck/redis";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { freePort } from "../../../test/services/free-port.js";
import { type RedisServer, startRedis } from "../../../test/services/redis.js";
import { asAdmin } from "./admin.js";

// Three nodes, so that keys of different slots are on different servers and a script over two slots fails.
const SLOTS = [
  [0, 5460],
  [5461, 10_922],
  [10_923, 16_383],
] as const;
let nodes: RedisServer[];
let client: Cluster;

beforeAll(async () => {
  const settings = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
  // Left to itself, a node takes 10,000 more than its port for the others, which somebody else may have.
  const busPorts = await Promise.all(SLOTS.map(freePort));
  nodes = await Promise.all(busPorts.map((port) => startRedis([...settings, "--cluster-port", `${port}`])));
  for (const [at, [from, to]] of SLOTS.entries()) {
    const { url } = nodes[at] as RedisServer;
    await asAdmin(url, async (admin) => {
      await admin.call("CLUSTER", "ADDSLOTSRANGE", from, to);
      for (const [node, { port }] of nodes.entries())
        await admin.call("CLUSTER", "MEET", "127.0.0.1", port, String(busPorts[node]));
    });
  }
  for (const { url } of nodes) {
    const isUp = async () => String(await asAdmin(url, (admin) => admin.call("CLUSTER", "INFO"))).includes("state:ok");
    await eventually(isUp, 30_000);
  }
  client = new Cluster(nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
  client.on("error", () => {});
});

afterAll(async () => {
  client?.disconnect();
  for (const node of nodes ?? []) await node.remove();
});

test("a store works on a cluster, whichever nodes its prefixes fall on", async () => {
  for (const prefix of ["a", "b", "c", "d", "e", "f"]) {
    const store = new RedisStore({ client, prefix });
    await store.open();
    const heard: (string | null)[] = [];
    store.signals?.subscribe((taskId) => heard.push(taskId));
    const task = await store.create(workingTask({ idempotencyKey: "key", ttlMs: 0 }));
    expect(await store.findByKey("ada", "key")).toEqual(task);
    expect((await store.list({ limit: 5 })).tasks).toHaveLength(1);
    expect((await store.list({ owner: "ada", unfinished: true, limit: 5 })).tasks).toHaveLength(1);
    store.signals?.publish(task.taskId);
    await eventually(() => heard.includes(task.taskId));
    const finished = await store.update(task.taskId, 1, completion(await store.now()));
    expect(finished).toMatchObject({ status: "completed", version: 2 });
    expect(await store.sweep(5)).toBe(1);
    await store.close();
  }
});

test("a node whose policy may evict tasks is refused, whichever it is", async () => {
  const { url } = nodes[2] as RedisServer;
  await asAdmin(url, (admin) => admin.config("SET", "maxmemory-policy", "allkeys-lru"));
  const store = new RedisStore({ client });
  await expect(store.open()).rejects.toThrow("maxmemory-policy is allkeys-lru");
  await asAdmin(url, (admin) => admin.config("SET", "maxmemory-policy", "noeviction"));
});
