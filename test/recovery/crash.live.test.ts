/** The only process is killed in the middle of everything; the next one finds it all. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createTasks, type ToolContext } from "@claimcheck/mcp";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../fixtures/eventually.js";
import { SHARED_STORES, type SharedStore } from "../fixtures/shared-stores.js";

const SCRIPT = fileURLToPath(new URL("crashing-process.mjs", import.meta.url));
const LEASE_MS = 2000;
const OWNER = JSON.stringify(["single-user"]);
const OPTIONAL = { execution: { taskSupport: "optional" } } as const;
const FORM = { type: "object", properties: { sure: { type: "boolean" } } } as const;

/** Lets a process begin thirteen tasks, and kills it. Answers its id, and the tasks by the names of their tools. */
async function crash(
  kind: string,
  { options }: SharedStore,
): Promise<{ pid: number; taskIds: Record<string, string[]> }> {
  const child = spawn(process.execPath, [SCRIPT, kind, JSON.stringify(options), String(LEASE_MS)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const taskIds: Record<string, string[]> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "all have spoken") break;
    const [name = "", taskId = ""] = line.split(" ");
    taskIds[name] = [...(taskIds[name] ?? []), taskId];
  }
  child.kill("SIGKILL");
  await once(child, "exit");
  return { pid: child.pid ?? 0, taskIds };
}

it.each(Object.keys(SHARED_STORES))("on %s: within a lease each task is what its tool's policy says", async (kind) => {
  const shared = await (SHARED_STORES[kind] as () => Promise<SharedStore>)();
  const { pid, taskIds } = await crash(kind, shared);
  const killedAt = Date.now();
  const tasks = createTasks({ store: shared.store, ownership: "single-user", leaseMs: LEASE_MS });
  onTestFinished(() => tasks.close());
  const runs: string[] = [];
  const checkpoints: unknown[] = [];
  const run = (name: string) => (): string => {
    runs.push(name);
    return `${name} again`;
  };
  const server = new McpServer({ name: "next", version: "0" });
  tasks.registerTool(server, "fails", OPTIONAL, run("fails"));
  tasks.registerTool(server, "waits", OPTIONAL, run("waits"));
  tasks.registerTool(server, "retries", { ...OPTIONAL, recovery: "retry" }, run("retries"));
  const resume = (_args: object, _ctx: ToolContext, checkpoint: unknown): string => {
    checkpoints.push(checkpoint);
    return "resumed";
  };
  tasks.registerTool(server, "resumes", { ...OPTIONAL, recovery: { resume } }, run("resumes"));
  tasks.registerTool(server, "asks", { ...OPTIONAL, recovery: "retry" }, async (_args, ctx) => {
    runs.push("asks");
    return JSON.stringify(await ctx.elicit({ message: "Sure?", requestedSchema: FORM }));
  });
  const stopped: unknown[] = [];
  const stop = async (_args: object, { cancelToken, task }: ToolContext, checkpoint: unknown): Promise<string> => {
    task?.registerInterrupt(() => void stopped.push(checkpoint));
    await cancelToken.wait();
    cancelToken.checkCancelled();
    return "not reached";
  };
  tasks.registerTool(server, "outlives", { ...OPTIONAL, recovery: { resume: stop } }, run("outlives"));
  await tasks.open();
  // Of the two, one was being cancelled when its process was killed.
  const [, other = ""] = taskIds.outlives ?? [];
  expect(await tasks.runtime.cancel(OWNER, other)).toMatchObject({ cancelled: true });

  const get = (taskId: string) => tasks.runtime.get(OWNER, taskId);
  const others = Object.entries(taskIds).flatMap(([name, ids]) => (name === "asks" ? [] : ids));
  await eventually(async () => {
    const seen = await Promise.all(others.map(get));
    return seen.every((task) => task !== null && task.status !== "working");
  });
  // A lease and a second, and what a busy machine adds.
  expect(Date.now() - killedAt).toBeLessThan(LEASE_MS + 20_000);
  for (const taskId of taskIds.fails ?? [])
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      outcome: { reason: "runner_lost" },
      partialOutput: [`by ${pid}`],
    });
  for (const name of ["retries", "resumes", "waits"])
    for (const taskId of taskIds[name] ?? []) expect(await get(taskId)).toMatchObject({ status: "completed" });
  expect(checkpoints).toEqual([{ by: pid }, { by: pid }]);
  for (const taskId of taskIds.outlives ?? [])
    expect(await get(taskId)).toMatchObject({
      status: "cancelled",
      cancellation: { how: "stopped" },
      partialOutput: [`by ${pid}`],
    });
  expect(stopped).toEqual([{ by: pid }, { by: pid }]);

  const [asking = ""] = taskIds.asks ?? [];
  await eventually(() => runs.includes("asks"));
  const waiting = await get(asking);
  expect(waiting).toMatchObject({ status: "input_required", questions: [{ params: { message: "Sure?" } }] });
  const key = waiting?.questions[0]?.key ?? "";
  expect(await tasks.runtime.answer(OWNER, asking, key, { action: "accept", content: { sure: true } })).toBe(
    "accepted",
  );
  await eventually(async () => (await get(asking))?.status === "completed");
  expect(runs.sort()).toEqual(["asks", "retries", "retries", "waits", "waits", "waits"]);
  await eventually(() => tasks.runtime.gauges.attempts === 0);
});
