/** Tasks with tools for one test, and clients of them; everything is closed when the test ends. */
import { MemoryStore, type TaskStore } from "@claimcheck/core";
import type { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createTasks, type Tasks, type TasksOptions, type ToolContext } from "../../src/index.js";
import { connectInMemory, type Declares, type RawClient, type Reply } from "./raw-client.js";

/** Says nothing. */
export const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What every scene of a test file starts from. */
export const defaults: TasksOptions = {};

export interface Scene {
  tasks: Tasks;
  /** Another client of the same tasks. */
  connect(declares?: Declares | "none"): Promise<RawClient>;
}

export function scene(register: (tasks: Tasks, server: McpServer) => void, options: TasksOptions = {}): Scene {
  const tasks = createTasks({ logger: silent, ...defaults, ...options });
  onTestFinished(() => tasks.close());
  return {
    tasks,
    connect: async (declares) => {
      const client = await connectInMemory(tasks, (server) => register(tasks, server), declares);
      onTestFinished(() => client.close());
      return client;
    },
  };
}

export const OPTIONAL = { execution: { taskSupport: "optional" } } as const;

/** Work that goes on until it is told to stop, and stops then. */
export function untilStopped({ signal }: Pick<ToolContext, "signal">): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
}

/** One memory as several processes would share it. */
export function sharedMemory(): () => TaskStore {
  const memory = new MemoryStore();
  return () => ({
    create: (record) => memory.create(record),
    get: (taskId) => memory.get(taskId),
    list: (query) => memory.list(query),
    update: (taskId, version, changes) => memory.update(taskId, version, changes),
    findByKey: (owner, key) => memory.findByKey(owner, key),
  });
}

/**
 * Has one server begin the task `dig` and leave when that has kept a checkpoint, and the next one collect it. Both are made
 * by `serve`, on a store that they share, for one person.
 */
export async function handOver(
  serve: () => Scene,
  args: object = {},
): Promise<{ taskId: string; result: Reply["result"] }> {
  const leaving = serve();
  const client = await leaving.connect();
  const { taskId } = await client.callTask("dig", { arguments: args });
  const owner = JSON.stringify(["single-user"]);
  await eventually(async () => (await leaving.tasks.runtime.get(owner, taskId))?.checkpoint !== undefined);
  await leaving.tasks.close();
  const next = await serve().connect();
  return { taskId, result: (await next.request("tasks/result", { taskId })).result };
}
