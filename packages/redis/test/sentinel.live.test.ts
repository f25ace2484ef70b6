import { randomBytes } from "node:crypto";
import { RedisStore } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type RedisServer, startRedis, startSentinel } from "../../../test/services/redis.js";
import { asAdmin } from "./admin.js";

const NAME = "tasks";

async function started(...settings: string[]): Promise<RedisServer> {
  const server = await startRedis(settings);
  onTestFinished(() => server.remove());
  return server;
}

test("a client that asks sentinels finds the new primary after a fail-over, and the store goes on", async () => {
  const primary = await started();
  const replica = await started("--replicaof", `127.0.0.1 ${primary.port}`);
  const sentinel = await startSentinel(NAME, primary.port);
  onTestFinished(() => sentinel.remove());
  const watch = new Redis({ port: sentinel.port, host: "127.0.0.1" });
  onTestFinished(() => watch.disconnect());
  const info = async (): Promise<string> => String(await watch.call("INFO", "sentinel"));
  await eventually(async () => (await info()).includes("slaves=1"), 30_000);

  const client = new Redis({
    sentinels: [{ host: "127.0.0.1", port: sentinel.port }],
    name: NAME,
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    commandTimeout: 2000,
  });
  onTestFinished(() => client.disconnect());
  const store = new RedisStore({ client, prefix: `sentinel_${randomBytes(6).toString("hex")}`, logger: recordLog() });
  await store.open();
  onTestFinished(() => store.close());
  const task = await store.create(workingTask({ idempotencyKey: "key" }));
  expect(store.health).toEqual({ state: "ok", signals: "connected" });
  // What the replica has received is what a fail-over keeps.
  expect(await asAdmin(primary.url, (admin) => admin.wait(1, 30_000))).toBe(1);

  await primary.stop("SIGKILL");
  await eventually(
    () =>
      store.get(task.taskId).then(
        (found) => found !== null,
        () => false,
      ),
    30_000,
  );
  expect(await store.findByKey("ada", "key")).toEqual(task);
  await eventually(
    () =>
      store.update(task.taskId, 1, completion()).then(
        (next) => next !== null,
        () => false,
      ),
    30_000,
  );
  expect(await asAdmin(replica.url, (admin) => admin.role())).toContain("master");
  await eventually(() => store.health.signals === "connected", 30_000);
  const heard: (string | null)[] = [];
  store.signals?.subscribe((taskId) => heard.push(taskId));
  await eventually(() => {
    store.signals?.publish(task.taskId);
    return heard.includes(task.taskId);
  });
});
