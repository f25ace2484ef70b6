// A process of its own that runs, asks and queues on a shared store until it is killed. Prints which task does what.
import { InProcessRunner } from "@claimcheck/core";
import { createTasks } from "@claimcheck/mcp";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { McpServer } from "@modelcontextprotocol/server";

const [kind, options, leaseMs] = process.argv.slice(2);
const Store = { sqlite: SqliteStore, postgres: PostgresStore, redis: RedisStore }[kind];
const runner = new InProcessRunner({ concurrency: 9 });
const store = new Store(JSON.parse(options));
const tasks = createTasks({ store, runner, ownership: "single-user", leaseMs: Number(leaseMs) });
const server = new McpServer({ name: "crashing", version: "0" });
const config = { execution: { taskSupport: "optional" } };
const forEver = async (_args, ctx) => {
  ctx.task.recordOutput([`by ${process.pid}`]);
  await new Promise(() => {});
};
const counted = async (_args, ctx) => {
  await ctx.task.checkpoint({ by: process.pid });
  await forEver(_args, ctx);
};
tasks.registerTool(server, "fails", config, forEver);
tasks.registerTool(server, "retries", { ...config, recovery: "retry" }, forEver);
tasks.registerTool(server, "resumes", { ...config, recovery: { resume: () => "resumed" } }, counted);
// Deaf to being stopped, so that its cancelling is under way when the process is killed.
tasks.registerTool(
  server,
  "outlives",
  { ...config, cancelGraceMs: 60_000, recovery: { resume: () => "resumed" } },
  counted,
);
tasks.registerTool(server, "asks", { ...config, recovery: "retry" }, async (_args, ctx) => {
  await ctx.elicit({
    message: "Sure?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
  });
});
tasks.registerTool(server, "waits", config, () => "not reached");
setInterval(() => {}, 60_000);
await tasks.open();
const taskIds = [];
let cancelled = false;
const owner = JSON.stringify(["single-user"]);
const declared = { clientCapabilities: { elicitation: { form: {} } } };
for (const name of [
  "asks",
  "fails",
  "fails",
  "retries",
  "retries",
  "resumes",
  "resumes",
  "fails",
  "outlives",
  "outlives",
  "waits",
  "waits",
  "waits",
]) {
  const { task } = await tasks.runtime.create({ owner, toolName: name, arguments: {}, request: declared });
  if (name === "outlives" && !cancelled) {
    cancelled = true;
    void tasks.runtime.cancel(owner, task.taskId);
    while ((await tasks.runtime.get(owner, task.taskId)).cancellation === undefined)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }
  process.stdout.write(`${name} ${task.taskId}\n`);
  taskIds.push(task.taskId);
}
const hasSpoken = ({ toolName, status, partialOutput }) =>
  toolName === "waits" || status === "input_required" || partialOutput !== undefined;
// What they say of themselves is on its way for a moment.
while (!(await Promise.all(taskIds.map((taskId) => store.get(taskId)))).every(hasSpoken))
  await new Promise((resolve) => setTimeout(resolve, 20));
process.stdout.write("all have spoken\n");
