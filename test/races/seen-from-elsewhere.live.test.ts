/** Whoever looks from another process, however often, sees a task that has not ended, or one that has with all that it came to. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TaskStore } from "@claimcheck/core";
import { createTasks } from "@claimcheck/mcp";
import { connectInMemory, DIALECTS, type TaskClient } from "@claimcheck/mcp/testing";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, inject, it, onTestFinished } from "vitest";

const TASKS = 200;
const SCRIPT = fileURLToPath(new URL("finishing-process.mjs", import.meta.url));

interface Shared {
  options: object;
  store: TaskStore;
}

const STORES: Record<string, () => Promise<Shared>> = {
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), "claimcheck-seen-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const options = { path: join(folder, "tasks.db") };
    return { options, store: new SqliteStore(options) };
  },
  postgres: async () => {
    const options = { url: inject("postgres").url, schema: `seen_${randomBytes(6).toString("hex")}` };
    return { options, store: new PostgresStore(options) };
  },
  redis: async () => {
    const options = { url: inject("redis").url, prefix: `seen_${randomBytes(6).toString("hex")}` };
    return { options, store: new RedisStore(options) };
  },
};

/** Starts the process that ends the tasks; answers their ids, and what has it begin. */
async function finishing(kind: string, options: object): Promise<{ taskIds: string[]; begin: () => void }> {
  const child = spawn(process.execPath, [SCRIPT, kind, JSON.stringify(options), String(TASKS)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const taskIds: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) if (taskIds.push(line) === TASKS) break;
  return { taskIds, begin: () => void child.stdin.write("now\n") };
}

/** Looks at each task in turn, again and again, and checks it the moment that it is seen to have ended. */
async function watch(client: TaskClient, taskIds: readonly string[]): Promise<number> {
  let looks = 0;
  for (let left = [...taskIds]; left.length > 0; ) {
    const working: string[] = [];
    for (const taskId of left) {
      const task = await client.get(taskId);
      looks += 1;
      if (task.status === "working") working.push(taskId);
      else {
        expect(task).toMatchObject({ status: "completed" });
        expect(task.statusMessage).toBeUndefined();
        expect(await client.result(taskId)).toMatchObject({ content: [{ text: `the result of ${taskId}` }] });
      }
    }
    left = working;
  }
  return looks;
}

it.each(Object.keys(STORES))("on %s, in every dialect", async (kind) => {
  const { options, store } = await (STORES[kind] as () => Promise<Shared>)();
  const { taskIds, begin } = await finishing(kind, options);
  const tasks = createTasks({ store, ownership: "single-user", limits: { pollsPerSecond: Number.POSITIVE_INFINITY } });
  onTestFinished(() => tasks.close());
  const clients = await Promise.all(
    DIALECTS.map((dialect) => {
      const server = new McpServer({ name: "looking", version: "0" });
      tasks.bind(server);
      return connectInMemory(tasks, server, { dialect });
    }),
  );
  begin();
  const looks = await Promise.all(clients.map((client) => watch(client, taskIds)));
  for (const many of looks) expect(many).toBeGreaterThan(TASKS);
});
