// biome-ignore-all lint/suspicious/noConsole: tools that print are what this server is about
// A server on this process's own stdin and stdout, with tools that do what tools should not.
import { spawnSync } from "node:child_process";
import { createTasks, serveStdio } from "@claimcheck/mcp";
import { McpServer } from "@modelcontextprotocol/server";

const contract = process.argv[2] ?? "2025-11-25";
const tasks = createTasks({ contract, ownership: "single-user" });
const optional = { execution: { taskSupport: "optional" } };

function factory() {
  const server = new McpServer({ name: "fixture", version: "0" });
  tasks.registerTool(server, "dig", optional, async (_args, ctx) => {
    for (let feet = 1; feet <= 3; feet += 1) {
      ctx.task?.sendProgress(feet, { total: 3, message: `${feet} feet` });
      ctx.task?.recordOutput([`${feet} feet`]);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return "dug";
  });
  tasks.registerTool(server, "endless", optional, async (_args, ctx) => {
    ctx.task?.recordOutput(["one foot"]);
    await ctx.cancelToken.wait();
    ctx.cancelToken.checkCancelled();
  });
  tasks.registerTool(server, "chatty", optional, () => {
    console.log("printed by a tool");
    console.table([{ feet: 3 }]);
    process.stdout.write("written to stdout\n");
    process.stderr.write(spawnSync("echo", ["said by a child"]).stdout);
    return "quiet";
  });
  const worker = { execution: { runner: "worker" } };
  const module = new URL("../programs/worker-tools.mjs", import.meta.url);
  tasks.registerTool(server, "chatty_worker", worker, { module, export: "print" });
  tasks.registerTool(server, "chatters", optional, async (_args, ctx) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (let n = 0; n < 5000; n += 1) await ctx.task?.setWorking(`${n} ${"x".repeat(900)}`);
    console.error("all said");
    return "said";
  });
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  tasks.registerTool(server, "asks", optional, (_args, ctx) => ctx.elicit({ message: "Who?", requestedSchema }));
  tasks.registerTool(server, "big", optional, () => "x".repeat(10_000_000));
  return server;
}

const serving = await serveStdio(tasks, factory, { onerror: (error) => console.error("onerror:", error.message) });
console.log("a banner that a library prints");
await serving.closed;
await tasks.close();
console.log("over");
