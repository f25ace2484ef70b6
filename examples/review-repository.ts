/**
 * A review in three stages that reports its progress, can be cancelled between them, and asks where its report should go.
 * Server and client in one program, over HTTP; it ends with an error if anything goes otherwise than it should.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { createTasks, serveHttp, type ToolContext } from "@claimcheck/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema, type Progress } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

// --- the server ------------------------------------------------------------------------------------------------------

const STAGES = ["clone", "index", "summarize"];

async function reviewRepository({ repo }: { repo: string }, ctx: ToolContext): Promise<object> {
  for (const [index, stage] of STAGES.entries()) {
    ctx.cancelToken.checkCancelled();
    await setTimeout(100, undefined, { signal: ctx.signal }); // stands for the work
    ctx.sendProgress(index + 1, { total: STAGES.length, message: `Finished ${stage} for ${repo}` });
  }
  if (ctx.task !== null) {
    await ctx.task.requireInput("Choose the publish target before continuing.");
    const answer = await ctx.elicit({
      message: "Which environment should receive the report?",
      requestedSchema: z.object({ environment: z.enum(["staging", "production"]) }),
    });
    if (answer.action !== "accept") throw new Error("The review is not published: nobody said where.");
    await ctx.task.setWorking("Continuing after user input.");
  }
  return {
    content: [{ type: "text", text: `Review complete for ${repo}` }],
    structuredContent: { repo, status: "complete" },
  };
}

const tasks = createTasks({ ownership: "single-user" });

function createServer(): McpServer {
  const server = new McpServer({ name: "reviews", version: "1.0.0" });
  const config = {
    description: "Reviews a repository.",
    inputSchema: z.object({ repo: z.string() }),
    execution: { taskSupport: "optional", runner: "async" },
  } as const;
  tasks.registerTool(server, "review_repository", config, reviewRepository);
  return server;
}

const serving = await serveHttp(tasks, createServer, { port: 0, auth: "none" });

// --- its client ------------------------------------------------------------------------------------------------------

const client = new Client({ name: "reader", version: "1.0.0" }, { capabilities: { tasks: {}, elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  console.log(`asked: ${params.message} → staging`);
  return { action: "accept", content: { environment: "staging" } };
});
await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)) as Parameters<Client["connect"]>[0]);

const params = { name: "review_repository", arguments: { repo: "example/repo" } };
const seen: string[] = [];
const progress: string[] = [];
const onprogress = ({ message = "" }: Progress): void => void progress.push(message);
const called = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {}, onprogress });
for await (const message of called) {
  if (message.type === "taskStatus") {
    const { status, statusMessage } = message.task;
    seen.push(statusMessage === undefined ? status : `${status}: ${statusMessage}`);
  }
  if (message.type === "error") throw message.error;
  if (message.type !== "result") continue;
  assert.deepEqual(message.result.content, [{ type: "text", text: "Review complete for example/repo" }]);
  assert.deepEqual(message.result.structuredContent, { repo: "example/repo", status: "complete" });
}
console.log([...progress, ...new Set(seen)].join("\n"));
assert.deepEqual(
  progress,
  STAGES.map((stage) => `Finished ${stage} for example/repo`),
);
assert(seen.includes("input_required: Choose the publish target before continuing."));

// The same tool, called plainly: it has no task, so it asks nobody.
const direct = await client.callTool(params);
assert.deepEqual(direct.structuredContent, { repo: "example/repo", status: "complete" });

await client.close();
await serving.close();
await tasks.close();
console.log("The review went as it should, as a task and as a plain call.");
