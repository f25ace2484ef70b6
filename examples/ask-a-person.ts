/**
 * A task that asks a person, who answers on another connection than the one that started it: questions live with the task,
 * not with a connection. Server and clients in one program; it ends with an error if anything goes otherwise than it should.
 */
import assert from "node:assert/strict";
import { createTasks, serveHttp } from "@claimcheck/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

// --- the server ------------------------------------------------------------------------------------------------------

// One person's server: any connection of theirs answers. With authentication, any of the same principal.
const tasks = createTasks({ ownership: "single-user" });

function createServer(): McpServer {
  const server = new McpServer({ name: "releases", version: "1.0.0" });
  const config = {
    description: "Releases a version once somebody has approved it.",
    inputSchema: z.object({ version: z.string() }),
    execution: { taskSupport: "required" },
  } as const;
  tasks.registerTool(server, "release", config, async ({ version }, ctx) => {
    const approval = await ctx.elicit({
      message: `Release ${version}?`,
      requestedSchema: z.object({ approvedBy: z.string(), notify: z.boolean().default(true) }),
    });
    if (approval.action !== "accept") return { version, released: false };
    return { version, released: true, ...approval.content };
  });
  return server;
}

const serving = await serveHttp(tasks, createServer, { port: 0, auth: "none" });

// --- two clients -----------------------------------------------------------------------------------------------------

async function connect(name: string): Promise<Client> {
  const client = new Client({ name, version: "1.0.0" }, { capabilities: { tasks: {}, elicitation: {} } });
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)) as Parameters<Client["connect"]>[0]);
  return client;
}

const agent = await connect("agent");
const params = { name: "release", arguments: { version: "1.2.0" }, task: {} };
const { task } = await agent.request({ method: "tools/call", params }, CreateTaskResultSchema);
await agent.close();
console.log(`the agent started ${task.taskId} and left`);

const person = await connect("person");
const { tasks: open } = await person.experimental.tasks.listTasks();
assert.deepEqual(
  open.map(({ taskId, status }) => [taskId, status]),
  [[task.taskId, "input_required"]],
);
const asked: string[] = [];
person.setRequestHandler(ElicitRequestSchema, (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { approvedBy: "Ada" } };
});
const result = await person.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
console.log(`a person was asked "${asked}", and the task answered ${JSON.stringify(result.structuredContent)}`);
assert.deepEqual(asked, ["Release 1.2.0?"]);
assert.deepEqual(result.structuredContent, { version: "1.2.0", released: true, approvedBy: "Ada", notify: true });

await person.close();
await serving.close();
await tasks.close();
