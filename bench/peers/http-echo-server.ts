/** A process of its own: our server with one tool, `echo`, over HTTP. Says where it is, and ends with its parent. */
import { createTasks, serveHttp } from "@claimcheck/mcp";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const inputSchema = z.object({ text: z.string() });
const tasks = createTasks({ ownership: "single-user" });
const serving = await serveHttp(
  tasks,
  () => {
    const server = new McpServer({ name: "bench", version: "1" });
    tasks.registerTool(
      server,
      "echo",
      { description: "Echo", inputSchema, execution: { taskSupport: "optional" } },
      async ({ text }) => ({ content: [{ type: "text", text }] }),
    );
    return server;
  },
  { auth: "none" },
);
process.on("disconnect", () => process.exit());
process.send?.(serving.url);
