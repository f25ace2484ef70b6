import { setTimeout } from "node:timers/promises";
import { createTasks, serveHttp } from "@claimcheck/mcp";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

// One person's server: any connection collects. For others, see docs/authentication.md.
const tasks = createTasks({ ownership: "single-user" });

function createServer(): McpServer {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  const config = {
    description: "Builds a year's report, which takes a while.",
    inputSchema: z.object({ year: z.number().int() }),
    execution: { taskSupport: "optional" },
  } as const;
  tasks.registerTool(server, "build_report", config, async ({ year }, ctx) => {
    for (let month = 1; month <= 12; month++) {
      await setTimeout(500, undefined, { signal: ctx.signal }); // stands for the work
      ctx.sendProgress(month, { total: 12, message: `month ${month} of ${year}` });
    }
    return `The report of ${year} is ready.`;
  });
  return server;
}

const port = Number(process.env.PORT ?? 3000);
const serving = await serveHttp(tasks, createServer, { port, auth: "none" });
console.log(`serving MCP on ${serving.url}`);
