/**
 * The server that the official conformance suite is run against: its tools are the fixtures that the suite's scenarios
 * name, with the behaviour that they describe; everything else is what any server of ours does.
 */
import { createTasks, type HttpServing, serveHttp, type Tasks } from "@claimcheck/mcp";
import { McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { z } from "zod";

const OPTIONAL = { execution: { taskSupport: "optional" } } as const;
const REQUIRED = { execution: { taskSupport: "required" } } as const;

const INTERNAL_ERROR = -32603;
const FAILING_JOB_MS = 1000;

const CONFIRMATION = {
  type: "object",
  properties: { confirm: { type: "boolean" } },
  required: ["confirm"],
} as const;
const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

/** Serves the fixtures on a free port of loopback. */
export async function startFixtureServer(): Promise<HttpServing> {
  const tasks = createTasks({ ownership: "single-user" });
  const serving = await serveHttp(tasks, () => fixtureServer(tasks), { auth: "none" });
  return {
    ...serving,
    close: async () => {
      await serving.close();
      await tasks.close();
    },
  };
}

function fixtureServer(tasks: Tasks): McpServer {
  const server = new McpServer({ name: "claimcheck-conformance", version: "0.1.0" });
  registerDirect(tasks, server);
  registerJobs(tasks, server);
  registerQuestions(tasks, server);
  return server;
}

function registerDirect(tasks: Tasks, server: McpServer): void {
  const inputSchema = z.object({ name: z.string().default("World") });
  tasks.registerTool(server, "greet", { description: "Greets.", inputSchema }, ({ name }) => `Hello, ${name}!`);
}

function registerJobs(tasks: Tasks, server: McpServer): void {
  const inputSchema = z.object({ seconds: z.number().min(0).default(1), label: z.string().default("computed") });
  tasks.registerTool(
    server,
    "slow_compute",
    { ...OPTIONAL, description: "Takes its time.", inputSchema },
    async ({ seconds, label }, ctx) => {
      await sleep(seconds * 1000, ctx.signal);
      return `${label} after ${seconds} s`;
    },
  );
  tasks.registerTool(server, "failing_job", { ...REQUIRED, description: "Fails." }, async (_args, ctx) => {
    await sleep(FAILING_JOB_MS, ctx.signal);
    return { content: [{ type: "text", text: "The job failed." }], isError: true };
  });
  tasks.registerTool(server, "protocol_error_job", { ...OPTIONAL, description: "Raises a JSON-RPC error." }, () => {
    throw new ProtocolError(INTERNAL_ERROR, "The job broke the protocol.");
  });
}

function registerQuestions(tasks: Tasks, server: McpServer): void {
  const inputSchema = z.object({ filename: z.string() });
  tasks.registerTool(
    server,
    "confirm_delete",
    { ...OPTIONAL, description: "Asks before it deletes.", inputSchema },
    async ({ filename }, ctx) => {
      const answer = await ctx.elicit({ message: `Delete ${filename}?`, requestedSchema: CONFIRMATION });
      return answer.action === "accept" && answer.content?.confirm === true
        ? `Deleted ${filename}`
        : `Kept ${filename}`;
    },
  );
  tasks.registerTool(
    server,
    "multi_input",
    { ...OPTIONAL, description: "Asks two things at once." },
    async (_args, ctx) => {
      const [name, confirmation] = await Promise.all([
        ctx.elicit({ message: "What name?", requestedSchema: NAME }),
        ctx.elicit({ message: "Are you sure?", requestedSchema: CONFIRMATION }),
      ]);
      return JSON.stringify({ name, confirmation });
    },
  );
  const askFirst = () => ({ user_name: { message: "What is your name?", requestedSchema: NAME } });
  tasks.registerTool(
    server,
    "test_tool_with_task",
    { ...REQUIRED, description: "Asks before its task exists.", askFirst },
    (_args, ctx) => {
      const answer = ctx.answers.user_name as { content?: { name?: string } } | undefined;
      return `Hello, ${answer?.content?.name}!`;
    },
  );
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("Cancelled."));
    });
  });
}
