/**
 * Create → get → get of the finished task on the 2026-07-28 wire, in memory, beside as many plain tools/call of the
 * SDK alone: microseconds for the three requests, in alternating runs.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { createTasks } from "@claimcheck/mcp";
import { InMemoryTransport, McpServer, type McpServerFactory } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { connectWire2026, type WireClient } from "./peers/in-memory-wire.js";
import { reportRatio } from "./peers/limit.js";
import { alternate, median } from "./peers/medians.js";

const TASKS = 1500;
const RUNS = 15;
const MOST = 1.35;

const inputSchema = z.object({ text: z.string() });

interface Side {
  client: WireClient;
  close(): Promise<void>;
}

async function serve(factory: McpServerFactory): Promise<Side> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(factory, { transport: far });
  const client = await connectWire2026(near);
  return { client, close: () => handle.close() };
}

/** Each run gets a server of its own: what earlier runs retain would otherwise be part of the measurement. */
async function claimcheck(): Promise<number> {
  const tasks = createTasks({ ownership: "single-user" });
  let finish = (): void => {};
  const side = await serve(() => {
    const server = new McpServer({ name: "claimcheck", version: "1" });
    tasks.registerTool(
      server,
      "echo",
      { description: "Echo", inputSchema, execution: { taskSupport: "optional" } },
      async ({ text }) => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return { content: [{ type: "text", text }] };
      },
    );
    return server;
  });
  await tasks.open();
  const start = performance.now();
  for (let task = 0; task < TASKS; task += 1) await oneTask(side.client, `text ${task}`, () => finish());
  const elapsed = performance.now() - start;
  await side.close();
  await tasks.close();
  return (elapsed / TASKS) * 1000;
}

async function oneTask({ request }: WireClient, text: string, finish: () => void): Promise<void> {
  const { taskId } = await request("tools/call", { name: "echo", arguments: { text } });
  const running = await request("tasks/get", { taskId });
  if (running.status !== "working") throw new Error(`not working: ${JSON.stringify(running)}`);
  finish();
  await nextTurn();
  const finished = await request("tasks/get", { taskId });
  if (textOf(finished.result) !== text) throw new Error(`wrong result: ${JSON.stringify(finished)}`);
}

async function plainSdk(): Promise<number> {
  const side = await serve(() => {
    const server = new McpServer({ name: "plain", version: "1" });
    server.registerTool("echo", { description: "Echo", inputSchema }, async ({ text }) => ({
      content: [{ type: "text", text }],
    }));
    return server;
  });
  const start = performance.now();
  for (let task = 0; task < TASKS; task += 1) {
    for (let call = 0; call < 3; call += 1) {
      const text = `text ${task} ${call}`;
      const result = await side.client.request("tools/call", { name: "echo", arguments: { text } });
      if (textOf(result) !== text) throw new Error(`wrong result: ${JSON.stringify(result)}`);
    }
    await nextTurn();
  }
  const elapsed = performance.now() - start;
  await side.close();
  return (elapsed / TASKS) * 1000;
}

function textOf(result: unknown): string | undefined {
  return (result as { content?: { text: string }[] } | undefined)?.content?.[0]?.text;
}

const { a, b, ratios } = await alternate(RUNS, claimcheck, plainSdk);
console.log(
  `claimcheck ${median(a).toFixed(1)} µs/task (least ${Math.min(...a).toFixed(1)}), ` +
    `three plain calls ${median(b).toFixed(1)} µs (least ${Math.min(...b).toFixed(1)})`,
);
reportRatio("wire-2026", median(ratios), { atMost: MOST });
