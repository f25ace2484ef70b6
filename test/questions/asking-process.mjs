// A process of its own whose tool waits for an answer that only another process on the same file can get.
import { createTasks } from "@claimcheck/mcp";
import { SqliteStore } from "@claimcheck/sqlite";
import { McpServer } from "@modelcontextprotocol/server";

const [path] = process.argv.slice(2);
const tasks = createTasks({ store: new SqliteStore({ path }), ownership: "single-user" });
const server = new McpServer({ name: "asking", version: "0" });
tasks.registerTool(server, "ask", { execution: { taskSupport: "optional" } }, async (_args, ctx) => {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const answer = await ctx.elicit({ message: "Who is there?", requestedSchema });
  return `Hello, ${answer.content?.name}, from ${process.pid}`;
});
// A runtime keeps no process alive: that is for what serves it.
const alive = setInterval(() => {}, 60_000);
await tasks.open();
const owner = JSON.stringify(["single-user"]);
const { task } = await tasks.runtime.create({ owner, toolName: "ask", arguments: {} });
process.stdout.write(`${task.taskId}\n`);
await tasks.runtime.wait(owner, task.taskId);
await tasks.close();
clearInterval(alive);
