/** Calls a worker's tool once and has nothing more to do. */
import { createTasks } from "@claimcheck/mcp";
import { connectInMemory } from "@claimcheck/mcp/testing";
import { McpServer } from "@modelcontextprotocol/server";

const server = new McpServer({ name: "idle", version: "0" });
const tasks = createTasks();
const module = new URL("./worker-tools.mjs", import.meta.url);
tasks.registerTool(server, "spin", { execution: { runner: "worker" } }, { module, export: "spinBriefly" });
const client = await connectInMemory(tasks, server);
const { content } = await client.call("spin");
process.stdout.write(`${content[0].text}\n`);
