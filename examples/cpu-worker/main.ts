/**
 * A tool that takes the processor for seconds, in a worker thread: the server answers others meanwhile, and cancelling stops
 * the work though it never awaits. Server and client in one program; it ends with an error if anything goes otherwise than
 * it should.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { createTasks, serveHttp } from "@claimcheck/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

// --- the server ------------------------------------------------------------------------------------------------------

const tasks = createTasks({ ownership: "single-user" });
// As it stands; a server that is built names ./primes.js.
const primes = new URL("./primes.ts", import.meta.url);

function createServer(): McpServer {
  const server = new McpServer({ name: "numbers", version: "1.0.0" });
  const config = {
    description: "Counts prime numbers.",
    inputSchema: z.object({ below: z.number().int().max(100_000_000) }),
    execution: { taskSupport: "optional", runner: "worker" },
  } as const;
  tasks.registerTool(server, "count_primes", config, { module: primes, export: "countPrimes" });
  return server;
}

const serving = await serveHttp(tasks, createServer, { port: 0, auth: "none" });

// --- its client ------------------------------------------------------------------------------------------------------

const client = new Client({ name: "reader", version: "1.0.0" }, { capabilities: { tasks: {} } });
await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)) as Parameters<Client["connect"]>[0]);

async function start(below: number): Promise<string> {
  const params = { name: "count_primes", arguments: { below }, task: {} };
  return (await client.request({ method: "tools/call", params }, CreateTaskResultSchema)).task.taskId;
}

const resultOf = (taskId: string) => client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

/** Waits for the first news of a task; answers its status message. */
async function firstNews(taskId: string): Promise<string> {
  for (;;) {
    const { statusMessage } = await client.experimental.tasks.getTask(taskId);
    if (statusMessage !== undefined) return statusMessage;
    await setTimeout(20);
  }
}

const counting = await start(2_000_000);
let isCounting = true;
const counted = resultOf(counting).finally(() => {
  isCounting = false;
});
let answered = 0;
while (isCounting) {
  await client.ping();
  answered += 1;
  await setTimeout(10);
}
const { structuredContent } = await counted;
console.log(`counted ${JSON.stringify(structuredContent)}; the server answered ${answered} pings meanwhile`);
assert.deepEqual(structuredContent, { below: 2_000_000, primes: 148_933 });
assert(answered > 5, "the server should have answered while its tool counted");

const endless = await start(100_000_000);
console.log(`the second count has ${await firstNews(endless)}`);
const { status } = await client.experimental.tasks.cancelTask(endless);
assert.equal(status, "cancelled");
const [kept] = (await resultOf(endless)).content;
console.log(`cancelled, and kept: ${JSON.stringify(kept)}`);
assert.match(kept?.type === "text" ? kept.text : "", /^\d+ primes below \d+$/);

await client.close();
await serving.close();
await tasks.close();
console.log("Both counts went as they should, and nobody waited for them.");
