/** A task runs under one handle of a file, and is listened to through another, as from another process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTasks, serveStdio, type Tasks, type ToolContext } from "@claimcheck/mcp";
import { RawClient } from "@claimcheck/mcp/testing";
import { SqliteStore } from "@claimcheck/sqlite";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { TASKS_EXTENSION } from "../protocol/client.js";

const OWNER = JSON.stringify(["single-user"]);
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

function opened(path: string): Tasks {
  const tasks = createTasks({
    store: new SqliteStore({ path }),
    ownership: "single-user",
    logger: SILENT,
    cancelGraceMs: 0,
  });
  onTestFinished(() => tasks.close());
  return tasks;
}

it("what changes there is told here, up to how the task ends", async () => {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-listen-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "tasks.db");
  const [there, here] = [opened(path), opened(path)];
  await there.open();
  let ended = (_text: string): void => {};
  const running = new Promise<ToolContext>((resolve) => {
    there.registerTool(
      new McpServer({ name: "there", version: "0" }),
      "dig",
      { execution: { taskSupport: "optional" } },
      (_args, ctx) => {
        resolve(ctx);
        return new Promise<string>((end) => {
          ended = end;
        });
      },
    );
  });
  const call = { owner: OWNER, toolName: "dig", arguments: {}, ttlMs: undefined, request: { owner: OWNER }, input: {} };
  const { taskId } = (await there.runtime.create(call)).task;
  const ctx = await running;

  const [clientSide, transport] = InMemoryTransport.createLinkedPair();
  const newServer = () => {
    const server = new McpServer({ name: "here", version: "0" });
    here.bind(server);
    return server;
  };
  const serving = await serveStdio(here, newServer, { transport });
  onTestFinished(() => serving.close());
  const client = new RawClient(clientSide);
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "here", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS_EXTENSION]: {} } },
  };
  const closed = client.request("subscriptions/listen", { notifications: { taskIds: [taskId] }, _meta });
  const told = () => client.heard.filter(({ method }) => method === "notifications/tasks").map(({ params }) => params);
  await expect.poll(() => told().length).toBe(1);
  await ctx.task?.setWorking("halfway");
  await expect.poll(() => told().at(-1)).toMatchObject({ statusMessage: "halfway" });
  ended("dug");
  expect((await closed).result).toMatchObject({ resultType: "complete" });
  expect(told().at(-1)).toMatchObject({ taskId, status: "completed", result: { content: [{ text: "dug" }] } });
});
