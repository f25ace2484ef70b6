/** The client side of tasks that the SDK's first generation has, against this server, over every transport that it can reach in one process. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type CallToolRequest, CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTasks, serveHttp, type Tasks } from "../../src/index.js";
import { silent } from "../wire/servers.js";

function register(tasks: Tasks): McpServer {
  const server = new McpServer({ name: "test", version: "0" });
  const optional = { execution: { taskSupport: "optional" as const }, pollInterval: 20 };
  tasks.registerTool(server, "dig", optional, async (_args, ctx) => {
    ctx.task?.sendProgress(1, { total: 2, message: "half-way" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    return { content: [{ type: "text", text: "dug" }], structuredContent: { feet: 3 } };
  });
  tasks.registerTool(server, "must", { ...optional, execution: { taskSupport: "required" } }, () => "must");
  tasks.registerTool(server, "asks", optional, async (_args, ctx) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
    const answer = await ctx.elicit({ message: "Who?", requestedSchema });
    return `Hello, ${answer.action === "accept" ? answer.content?.name : "nobody"}`;
  });
  tasks.registerTool(server, "rock", optional, () => Promise.reject(new Error("rock")));
  tasks.registerTool(server, "endless", optional, async (_args, ctx) => {
    ctx.task?.recordOutput(["one foot"]);
    await ctx.cancelToken.wait();
    ctx.cancelToken.checkCancelled();
  });
  return server;
}

const transports: Record<string, (tasks: Tasks) => Promise<Transport>> = {
  "in memory": async (tasks) => {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    await register(tasks).connect(serverSide);
    return clientSide as unknown as Transport;
  },
  "an HTTP session": (tasks) => overHttp(tasks, true),
  "HTTP without a session": (tasks) => overHttp(tasks, false),
};

async function overHttp(tasks: Tasks, sessions: boolean): Promise<Transport> {
  const serving = await serveHttp(tasks, () => register(tasks), { auth: { token: "secret" }, sessions });
  onTestFinished(() => serving.close());
  const requestInit = { headers: { authorization: "Bearer secret" } };
  return new StreamableHTTPClientTransport(new URL(serving.url), { requestInit }) as Transport;
}

describe.each(Object.keys(transports))("over %s", (name) => {
  describe.each([false, true])("capabilities enforced: %s", (enforceStrictCapabilities) => {
    async function connected(): Promise<Client> {
      const tasks = createTasks({ logger: silent });
      await tasks.open();
      const client = new Client(
        { name: "v1", version: "0" },
        { enforceStrictCapabilities, capabilities: { elicitation: {} } },
      );
      client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
      await client.connect(await (transports[name] as (tasks: Tasks) => Promise<Transport>)(tasks));
      onTestFinished(async () => {
        await client.close();
        await tasks.close();
      });
      return client;
    }

    async function stream(client: Client, params: CallToolRequest["params"], options = {}) {
      const messages = [];
      const called = client.experimental.tasks.callToolStream(params, CallToolResultSchema, {
        task: { ttl: 60_000 },
        ...options,
      });
      for await (const message of called) messages.push(message);
      return messages;
    }

    it("a call is a task from creation to result", async () => {
      const client = await connected();
      await client.listTools();
      const messages = await stream(client, { name: "dig" });
      expect(messages[0]).toMatchObject({ type: "taskCreated", task: { status: "working", ttl: 60_000 } });
      expect(messages.at(-1)).toMatchObject({
        type: "result",
        result: { content: [{ text: "dug" }], structuredContent: { feet: 3 } },
      });
    });

    it("it decides by itself after tools/list, and a tool that must be a task is one", async () => {
      const client = await connected();
      await client.listTools();
      const types = async (tool: string) =>
        (await stream(client, { name: tool }, { task: undefined })).map(({ type }) => type);
      expect(await types("must")).toContain("taskCreated");
      await expect(client.callTool({ name: "must" })).rejects.toThrow();
      expect(await client.callTool({ name: "dig" })).toMatchObject({ content: [{ text: "dug" }] });
    });

    it("a question is asked while it waits for the result", async () => {
      const client = await connected();
      await client.listTools();
      expect((await stream(client, { name: "asks" })).at(-1)).toMatchObject({
        type: "result",
        result: { content: [{ text: "Hello, Ada" }] },
      });
    });

    it("a failed task is an error", async () => {
      const client = await connected();
      await client.listTools();
      expect((await stream(client, { name: "rock" })).at(-1)).toMatchObject({ type: "error" });
    });

    it("get, list, cancel, and the result of what was cancelled", async () => {
      const client = await connected();
      const { tasks } = client.experimental;
      const created = client.experimental.tasks.callToolStream({ name: "endless" }, CallToolResultSchema, { task: {} });
      const first = (await created.next()).value;
      if (first?.type !== "taskCreated") throw new Error(`no task: ${JSON.stringify(first)}`);
      const { taskId } = first.task;
      expect(await tasks.getTask(taskId)).toMatchObject({ taskId, status: "working" });
      expect((await tasks.listTasks()).tasks.map((task) => task.taskId)).toEqual([taskId]);
      expect(await tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
      await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
      expect(await tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject({
        content: [{ text: "one foot" }],
      });
      await expect(tasks.getTask("tsk_unknown")).rejects.toMatchObject({ code: -32602 });
      await created.return(undefined as never);
    });
  });
});
