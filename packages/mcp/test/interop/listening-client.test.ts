/** The SDK's own client subscribes to tasks: over HTTP, and over a connection that carries everything. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, type StandardSchemaV1 } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createHttpHandler, createTasks, serveHttp, serveStdio, type Tasks } from "../../src/index.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL, silent } from "../wire/servers.js";

const OWNER = JSON.stringify(["single-user"]);
const EXTENSIONS = { "io.modelcontextprotocol/tasks": {} };
const anything: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as Record<string, unknown> }) },
};

const transports: Record<string, (tasks: Tasks, newServer: () => McpServer) => Promise<Transport>> = {
  HTTP: async (tasks, newServer) => {
    const serving = await serveHttp(tasks, newServer, { auth: "none" });
    onTestFinished(() => serving.close());
    return new StreamableHTTPClientTransport(new URL(serving.url));
  },
  "somebody's own HTTP server": async (tasks, newServer) => {
    const handler = await createHttpHandler(tasks, newServer);
    const handle = toNodeHandler(handler);
    const server = createServer((request, response) => {
      void handle(request as NodeIncomingMessageLike, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      await handler.close();
      server.close();
      server.closeAllConnections();
    });
    return new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  },
  "one connection": async (tasks, newServer) => {
    const [clientSide, transport] = InMemoryTransport.createLinkedPair();
    const serving = await serveStdio(tasks, newServer, { transport });
    onTestFinished(() => serving.close());
    return clientSide;
  },
};

describe.each(Object.entries(transports))("over %s", (_name, connect) => {
  async function listening(filter: object = {}) {
    const { promise, open } = gate<string>();
    const tasks = createTasks({ logger: silent, ownership: "single-user", cancelGraceMs: 0 });
    await tasks.open();
    onTestFinished(() => tasks.close());
    const newServer = () => {
      const server = new McpServer({ name: "test", version: "0" });
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        await ctx.task?.setWorking("digging");
        return promise;
      });
      return server;
    };
    newServer();
    const call = {
      owner: OWNER,
      toolName: "dig",
      arguments: {},
      ttlMs: undefined,
      request: { owner: OWNER },
      input: {},
    };
    const { taskId } = (await tasks.runtime.create(call)).task;
    const client = new Client(
      { name: "listening", version: "0" },
      { capabilities: { extensions: EXTENSIONS }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(await connect(tasks, newServer));
    onTestFinished(() => client.close());
    const heard: Record<string, unknown>[] = [];
    client.setNotificationHandler("notifications/tasks", { params: anything }, (params) => void heard.push(params));
    const subscription = await client.listen({ taskIds: [taskId], ...filter } as never);
    return { tasks, client, taskId, subscription, heard, open };
  }

  it("it hears how its task is and how it ends, and that nothing more will come", async () => {
    const { taskId, subscription, heard, open } = await listening();
    await eventually(() => heard.at(-1)?.statusMessage === "digging");
    open("dug");
    expect(await subscription.closed).toBe("graceful");
    // Its handlers run a moment after what came.
    await eventually(() => heard.at(-1)?.status === "completed");
    expect(heard.at(-1)).toMatchObject({ taskId, status: "completed", result: { content: [{ text: "dug" }] } });
  });

  it("what it closes tells it nothing more and leaves nothing behind; the task goes on", async () => {
    const { tasks, taskId, subscription, heard, open } = await listening();
    await eventually(() => heard.length > 0);
    await subscription.close();
    await eventually(() => tasks.runtime.subscriptions.size === 0);
    const count = heard.length;
    open("dug");
    expect(await tasks.runtime.wait(OWNER, taskId)).toMatchObject({ status: "completed" });
    expect(heard).toHaveLength(count);
  });

  it("it hears of tools that change on the same subscription", async () => {
    const { client, subscription, heard } = await listening({ toolsListChanged: true });
    expect(subscription.honoredFilter).toMatchObject({ toolsListChanged: true });
    await eventually(() => heard.length > 0);
    await client.close();
  });
});
