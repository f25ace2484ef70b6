// A process of its own that ends many tasks on a shared store, while another one looks. Prints their ids, then ends with stdin.
import { createTasks } from "@claimcheck/mcp";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { McpServer } from "@modelcontextprotocol/server";

const [kind, options, count] = process.argv.slice(2);
const Store = { sqlite: SqliteStore, postgres: PostgresStore, redis: RedisStore }[kind];
const tasks = createTasks({ store: new Store(JSON.parse(options)), ownership: "single-user" });
let finish = () => {};
const told = new Promise((resolve) => {
  finish = resolve;
});
const server = new McpServer({ name: "finishing", version: "0" });
tasks.registerTool(server, "work", { execution: { taskSupport: "optional" } }, async (_args, ctx) => {
  await ctx.task.setWorking("not done yet");
  await told;
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 2000));
  return `the result of ${ctx.task.taskId}`;
});
await tasks.open();
const owner = JSON.stringify(["single-user"]);
for (let made = 0; made < Number(count); made += 1) {
  const { task } = await tasks.runtime.create({ owner, toolName: "work", arguments: {} });
  process.stdout.write(`${task.taskId}\n`);
}
process.stdin.once("data", finish);
process.stdin.once("end", () => void tasks.close());
