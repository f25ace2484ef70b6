/** Whoever looks from another process, however often, sees a task that has not ended, or one that has with all that it came to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createTasks } from "@claimcheck/mcp";
import { connectInMemory, DIALECTS, type TaskClient } from "@claimcheck/mcp/testing";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { SHARED_STORES, type SharedStore } from "../fixtures/shared-stores.js";

const TASKS = 200;
const SCRIPT = fileURLToPath(new URL("finishing-process.mjs", import.meta.url));

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
async function watch(client: TaskClient, taskIds: readonly string[]): Promise<void> {
  for (let left = [...taskIds]; left.length > 0; ) {
    const working: string[] = [];
    for (const taskId of left) {
      const task = await client.get(taskId);
      if (task.status === "working") working.push(taskId);
      else {
        expect(task).toMatchObject({ status: "completed" });
        expect(task.statusMessage).toBeUndefined();
        expect(await client.result(taskId)).toMatchObject({ content: [{ text: `the result of ${taskId}` }] });
      }
    }
    left = working;
  }
}

it.each(Object.keys(SHARED_STORES))("on %s, in every dialect", async (kind) => {
  const { options, store } = await (SHARED_STORES[kind] as () => Promise<SharedStore>)();
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
  // However long this process is held up from now on, each client has seen each task before its end.
  const looks = clients.flatMap((client) => taskIds.map((taskId) => client.get(taskId)));
  for (const task of await Promise.all(looks)) expect(task).toMatchObject({ status: "working" });
  begin();
  await Promise.all(clients.map((client) => watch(client, taskIds)));
});
