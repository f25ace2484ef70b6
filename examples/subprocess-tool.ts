/**
 * A tool that is a command: what it prints is the task's output and progress, a failure keeps its exit code and its words,
 * and cancelling ends everything that it started. Server and client in one program; it ends with an error if anything goes
 * otherwise than it should.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createTasks, serveHttp } from "@claimcheck/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema, type Progress } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

// --- the server ------------------------------------------------------------------------------------------------------

/** Stands for a build: says what it does, and leaves its slowest step to a process of its own, which writes to a file. */
const SCRIPT = `
echo "compiling $1"
[ "$1" != broken ] || { echo "syntax error in $1" >&2; exit 2; }
echo "linking $1"
[ "$1" != huge ] || { while :; do echo step; sleep 0.05; done >> "$2" & echo "the linker is at work"; wait; }
echo "built $1"
`;

const folder = await mkdtemp(join(tmpdir(), "subprocess-tool-"));
const linked = join(folder, "linked");
const tasks = createTasks({ ownership: "single-user" });

function createServer(): McpServer {
  const server = new McpServer({ name: "builds", version: "1.0.0" });
  const config = {
    description: "Builds a target.",
    inputSchema: z.object({ target: z.string() }),
    execution: { taskSupport: "optional", runner: "subprocess" },
  } as const;
  // The target is an argument of its own, so that no shell reads it, whatever a caller sends.
  tasks.registerTool(server, "build", config, ({ target }) => ({
    argv: ["sh", "-c", SCRIPT, "build", target, linked],
    timeoutMs: 60_000,
  }));
  return server;
}

const serving = await serveHttp(tasks, createServer, { port: 0, auth: "none" });

// --- its client ------------------------------------------------------------------------------------------------------

const client = new Client({ name: "reader", version: "1.0.0" }, { capabilities: { tasks: {} } });
await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)) as Parameters<Client["connect"]>[0]);

async function start(target: string): Promise<string> {
  const params = { name: "build", arguments: { target }, task: {} };
  return (await client.request({ method: "tools/call", params }, CreateTaskResultSchema)).task.taskId;
}

const resultOf = (taskId: string) => client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

const built = await resultOf(await start("app"));
console.log("app:", JSON.stringify(built.content));
assert.deepEqual(built.content, [{ type: "text", text: "compiling app\nlinking app\nbuilt app\n" }]);

const lines: unknown[] = [];
const onprogress = ({ progress, message }: Progress) => lines.push([progress, message]);
await client.callTool({ name: "build", arguments: { target: "$(rm -rf .)" } }, undefined, { onprogress });
console.log("a plain call, line by line:", JSON.stringify(lines));
assert.deepEqual(lines, [
  [1, "compiling $(rm -rf .)"],
  [2, "linking $(rm -rf .)"],
  [3, "built $(rm -rf .)"],
]);

const broken = await resultOf(await start("broken"));
console.log("broken:", JSON.stringify(broken.content));
assert.equal(broken.isError, true);
const { exitCode, stdout, stderr } = broken.structuredContent as Record<string, unknown>;
assert.deepEqual(
  { exitCode, stdout, stderr },
  { exitCode: 2, stdout: "compiling broken\n", stderr: "syntax error in broken\n" },
);

const taskId = await start("huge");
for (let statusMessage = ""; statusMessage !== "the linker is at work"; await setTimeout(50))
  statusMessage = (await client.experimental.tasks.getTask(taskId)).statusMessage ?? "";
const { status } = await client.experimental.tasks.cancelTask(taskId);
assert.equal(status, "cancelled");
const kept = await resultOf(taskId);
console.log("huge, cancelled:", JSON.stringify(kept.content));
assert.deepEqual(kept.content, [{ type: "text", text: "compiling huge\nlinking huge\nthe linker is at work\n" }]);
const steps = (await stat(linked)).size;
await setTimeout(300);
assert.equal((await stat(linked)).size, steps, "the linker should have ended with its build");

await client.close();
await serving.close();
await tasks.close();
await rm(folder, { recursive: true });
console.log("Every build went as it should, and nothing of them is left.");
