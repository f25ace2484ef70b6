/** A question lives in the record: a tool waits in one process, and the answer comes through another on the same file. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createTasks, type Tasks } from "@claimcheck/mcp";
import { SqliteStore } from "@claimcheck/sqlite";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { expect, it, onTestFinished } from "vitest";

const SCRIPT = fileURLToPath(new URL("asking-process.mjs", import.meta.url));

interface Asking {
  process: ChildProcess;
  taskId: string;
  tasks: Tasks;
}

async function asking(): Promise<Asking> {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-questions-"));
  const path = join(folder, "tasks.db");
  const child = spawn(process.execPath, [SCRIPT, path], { stdio: ["ignore", "pipe", "inherit"] });
  const tasks = createTasks({ store: new SqliteStore({ path }), ownership: "single-user" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await tasks.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const [taskId] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  await tasks.open();
  return { process: child, taskId, tasks };
}

const owner = JSON.stringify(["single-user"]);

async function endOf({ tasks, taskId, process: child }: Asking): Promise<void> {
  const ended = await tasks.runtime.wait(owner, taskId);
  expect(ended).toMatchObject({
    status: "completed",
    outcome: { result: { content: [{ text: `Hello, Ada, from ${child.pid}` }] } },
  });
}

function newServer(tasks: Tasks): McpServer {
  const server = new McpServer({ name: "answering", version: "0" });
  tasks.bind(server);
  return server;
}

it("by tasks/update of a 2026-era client", async () => {
  const scene = await asking();
  const waiting = await scene.tasks.runtime.wait(owner, scene.taskId, { until: ({ status }) => status !== "working" });
  const [key = ""] = waiting?.questions.map((question) => question.key) ?? [];
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(() => newServer(scene.tasks), { transport: serverSide });
  onTestFinished(() => handle.close());
  const replied = new Promise<unknown>((resolve) => {
    clientSide.onmessage = resolve;
  });
  await clientSide.start();
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const inputResponses = { [key]: { action: "accept", content: { name: "Ada" } } };
  const params = { taskId: scene.taskId, inputResponses, _meta };
  await clientSide.send({ jsonrpc: "2.0", id: 1, method: "tasks/update", params });
  expect(await replied).toMatchObject({ result: { resultType: "complete" } });
  await endOf(scene);
});

it("by a 2025-era client that is asked on its tasks/result there", async () => {
  const scene = await asking();
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await newServer(scene.tasks).connect(serverSide);
  const client = new Client({ name: "test", version: "0" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(clientSide);
  onTestFinished(() => client.close());
  const anything = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;
  const result = await client.request({ method: "tasks/result", params: { taskId: scene.taskId } }, anything);
  expect(result).toMatchObject({ content: [{ text: `Hello, Ada, from ${scene.process.pid}` }] });
  await endOf(scene);
});
