/** Tools of the other runners, as a client of each dialect has them: called directly, as tasks, asked, cancelled. */
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTasks } from "../../src/index.js";
import { connectInMemory, DIALECTS, type TaskClient } from "../../src/testing/index.js";
import { silent } from "../wire/servers.js";

const module = new URL("../programs/worker-tools.mjs", import.meta.url);
const PATIENCE_MS = 30_000;

describe.each(DIALECTS)("%s", (dialect) => {
  async function connect(): Promise<TaskClient> {
    const tasks = createTasks({ logger: silent, workerThreads: { execArgv: [] } });
    onTestFinished(() => tasks.close());
    const server = new McpServer({ name: "test", version: "0" });
    const worker = { taskSupport: "optional", runner: "worker" } as const;
    tasks.registerTool(server, "ask", { execution: worker }, { module, export: "ask" });
    tasks.registerTool(server, "logs", { execution: worker }, { module, export: "logs" });
    tasks.registerTool(server, "spin", { execution: worker, cancelGraceMs: 100 }, { module, export: "recordThenSpin" });
    const subprocess = { taskSupport: "optional", runner: "subprocess" } as const;
    tasks.registerTool(server, "print", { execution: subprocess }, () => ({ argv: ["echo", "printed"] }));
    tasks.registerTool(server, "fail", { execution: subprocess }, () => ({ argv: ["sh", "-c", "echo half; exit 3"] }));
    tasks.registerTool(server, "hang", { execution: subprocess }, () => ({
      argv: ["sh", "-c", "echo half; exec sleep 600"],
    }));
    const answer = () => ({ action: "accept", content: { name: "Ada" } });
    const client = await connectInMemory(tasks, server, { dialect, answer });
    onTestFinished(() => client.close());
    return client;
  }

  const said = (text: string) => [{ type: "text", text }];

  it("a command's output is the result, directly and as a task", async () => {
    const client = await connect();
    expect((await client.call("print")).content).toEqual(said("printed\n"));
    const { taskId } = await client.create("print");
    expect((await client.result(taskId)).content).toEqual(said("printed\n"));
  });

  it("a command that fails is an isError result with its exit code, which the dialect makes a status of", async () => {
    const client = await connect();
    const failure = { isError: true, structuredContent: { exitCode: 3, stdout: "half\n" } };
    expect(await client.call("fail")).toMatchObject(failure);
    const { taskId } = await client.create("fail");
    const task = await client.waitUntil(taskId, ({ status }) => status !== "working");
    expect(await client.result(taskId)).toMatchObject(failure);
    expect(task.status).toBe(dialect === "2025-11-25" ? "failed" : "completed");
  });

  it.each(["hang", "spin"])("%s is cancelled, and what it had produced is the result", async (name) => {
    const client = await connect();
    const { taskId } = await client.create(name);
    await client.waitUntil(taskId, ({ statusMessage }) => statusMessage === "half", PATIENCE_MS);
    expect(await client.cancel(taskId)).toMatchObject({ status: "cancelled" });
    expect((await client.result(taskId)).content).toEqual(said(name === "hang" ? "half\n" : "half"));
  });

  it("what a worker logs is heard, as it is of any handler", async () => {
    const client = await connect();
    const _meta = { "io.modelcontextprotocol/logLevel": "info" };
    const heard = () => client.notifications.filter(({ method }) => method === "notifications/message");
    expect((await client.call("logs", {}, { _meta })).content).toEqual(said("[true,true,false,false]"));
    expect(heard().map(({ params }) => params)).toEqual([
      { level: "info", logger: "spade", data: { depth: 1 } },
      { level: "error", data: "rock" },
    ]);
    const { taskId } = await client.create("logs", {}, { _meta });
    await client.waitUntil(taskId, "completed", PATIENCE_MS);
    if (dialect === "io.modelcontextprotocol/tasks") return;
    expect(heard().slice(2)).toMatchObject([{ params: { data: { depth: 1 } } }, { params: { data: "rock" } }]);
  });

  it("a worker's question is answered, directly and as a task", async () => {
    const client = await connect();
    const answered = { action: "accept", content: { name: "Ada" } };
    expect((await client.call("ask")).structuredContent).toEqual(answered);
    const { taskId } = await client.create("ask");
    await client.waitUntil(taskId, "completed", PATIENCE_MS);
    expect((await client.result(taskId)).structuredContent).toEqual(answered);
  });
});
