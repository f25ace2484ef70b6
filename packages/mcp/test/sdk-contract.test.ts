/**
 * The members of the MCP SDK that this package leans on beyond what its types promise. A failure here after an
 * upgrade says which hook point moved.
 */
import {
  createMcpHandler,
  InMemoryTransport,
  McpServer,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { messagesOf } from "./http/http-client.js";
import { envelope, RawClient } from "./wire/raw-client.js";

const anything = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;

function watched(): { server: McpServer; connected: Transport[] } {
  const server = new McpServer({ name: "test", version: "0" });
  const connected: Transport[] = [];
  const connect = server.server.connect.bind(server.server);
  server.server.connect = async (transport) => {
    connected.push(transport);
    await connect(transport);
  };
  return { server, connected };
}

function post(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(body),
  });
}

const discover = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: envelope() } };
const modernHeaders = { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" };
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

async function rawClient(server: McpServer): Promise<RawClient> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const client = new RawClient(clientSide);
  await client.initialize();
  return client;
}

describe("every entry connects through server.connect, re-assigned on the instance", () => {
  it("createMcpHandler, for 2026-era and for 2025-era requests", async () => {
    for (const request of [post(discover, modernHeaders), post(ping)]) {
      const { server, connected } = watched();
      const response = await createMcpHandler(() => server).fetch(request);
      await response.text();
      expect(connected).toHaveLength(1);
    }
  });

  it("serveStdio", async () => {
    const { server, connected } = watched();
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    const handle = serveStdio(() => server, { transport: serverSide });
    const client = new RawClient(clientSide);
    await client.initialize();
    expect(connected).toHaveLength(1);
    await handle.close();
  });

  it("a session's transport", async () => {
    const { server, connected } = watched();
    await server.connect(new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "s" }));
    expect(connected).toHaveLength(1);
  });
});

it("the handlers of a transport are set when it is started, and not before messages are delivered", async () => {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const client = new RawClient(clientSide);
  const early = client.request("ping");
  const start = serverSide.start.bind(serverSide);
  let hadHandler = false;
  serverSide.start = () => {
    hadHandler = serverSide.onmessage !== undefined;
    return start();
  };
  await new McpServer({ name: "test", version: "0" }).connect(serverSide);
  expect(hadHandler).toBe(true);
  expect((await early).result).toEqual({});
});

it("a transport may be decorated in place: what it sends and receives goes through the re-assigned members", async () => {
  const server = new McpServer({ name: "test", version: "0" });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const send = serverSide.send.bind(serverSide);
  serverSide.send = (message, options) => send(Object.assign({ seen: true }, message), options);
  const client = new RawClient(clientSide);
  expect(await client.request("ping")).toMatchObject({ result: {}, seen: true });
});

it("a callback's isError result skips the check against the output schema", async () => {
  const server = new McpServer({ name: "test", version: "0" });
  const outputSchema = z.object({ feet: z.number() });
  server.registerTool("dig", { outputSchema }, () => ({ content: [], isError: true }));
  const client = await rawClient(server);
  expect((await client.call("dig")).result).toEqual({ content: [], isError: true });
});

it("refused arguments come as an isError result with one text block, before the callback runs", async () => {
  const server = new McpServer({ name: "test", version: "0" });
  server.registerTool("dig", { inputSchema: z.object({ depth: z.number() }) }, () => {
    throw new Error("must not run");
  });
  const client = await rawClient(server);
  expect((await client.call("dig")).result).toEqual({
    content: [
      { type: "text", text: expect.stringContaining("Input validation error: Invalid arguments for tool dig") },
    ],
    isError: true,
  });
});

it("registerTool drops execution, and lists what is set on the registered tool", async () => {
  const server = new McpServer({ name: "test", version: "0" });
  const execution = { taskSupport: "optional" } as const;
  server.registerTool("dropped", { execution } as object, () => ({ content: [] }));
  server.registerTool("kept", {}, () => ({ content: [] })).execution = execution;
  const { result } = await (await rawClient(server)).request("tools/list");
  const [dropped, kept] = (result?.tools ?? []) as unknown[];
  expect(dropped).not.toHaveProperty("execution");
  expect(kept).toHaveProperty("execution", execution);
});

it("a callback gets (args, context) where there is a schema, and (context) alone where there is none", async () => {
  const counts: number[] = [];
  const server = new McpServer({ name: "test", version: "0" });
  const callback = (...args: unknown[]) => {
    counts.push(args.length);
    return { content: [] };
  };
  server.registerTool("with", { inputSchema: z.object({}) }, callback);
  server.registerTool("without", {}, callback as never);
  const client = await rawClient(server);
  await client.call("with");
  await client.call("without");
  expect(counts).toEqual([2, 1]);
});

it("toolInputSchemaJson tells whether a tool is there", () => {
  const server = new McpServer({ name: "test", version: "0" });
  server.registerTool("dig", {}, () => ({ content: [] }));
  expect(server.toolInputSchemaJson("dig")).toBeDefined();
  expect(server.toolInputSchemaJson("fill")).toBeUndefined();
});

it("the SDK serves none of the tasks methods, and a method that nobody serves is 404 on 2026-era HTTP", async () => {
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tasks/get", "mcp-name": "tsk_x" };
  const request = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "tsk_x", _meta: envelope() } };
  const handler = createMcpHandler(() => new McpServer({ name: "test", version: "0" }));
  const response = await handler.fetch(post(request, headers));
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: -32601 } });
});

it("the SDK takes the answers out of the params of tasks/update and hands them on beside", async () => {
  const seen: unknown[] = [];
  const server = new McpServer({ name: "test", version: "0" });
  server.server.setRequestHandler("tasks/update", { params: anything }, (params, context) => {
    seen.push(params, (context.mcpReq as { inputResponses?: unknown }).inputResponses);
    return {};
  });
  const inputResponses = { q1: { action: "accept", content: {} } };
  await (await rawClient(server)).request("tasks/update", { taskId: "t", inputResponses });
  expect(seen).toEqual([{ taskId: "t" }, inputResponses]);
});

it("listening for task ids is acknowledged without them, in an event each, and ends at once with a result", async () => {
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
  const params = { notifications: { taskIds: ["tsk_x"] }, _meta: envelope() };
  const handler = createMcpHandler(() => new McpServer({ name: "test", version: "0" }));
  const response = await handler.fetch(
    post({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }, headers),
  );
  const _meta = expect.objectContaining({ "io.modelcontextprotocol/subscriptionId": 1 });
  const messages: unknown[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  expect(messages).toEqual([
    { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { notifications: {}, _meta } },
    { jsonrpc: "2.0", id: 1, result: { resultType: "complete", _meta } },
  ]);
});

it("a session writes its streams an event at a time, and keep-alives as comments", async () => {
  const server = new McpServer({ name: "test", version: "0" });
  server.registerTool("dig", {}, async (context) => {
    for (const data of ["a\n\nb", "c"]) await context.mcpReq.log("info", data);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { content: [] };
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "s", keepAliveMs: 5 });
  server.server.registerCapabilities({ logging: {} });
  await server.connect(transport);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } };
  await (await transport.handleRequest(post({ jsonrpc: "2.0", id: 1, method: "initialize", params }))).text();
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "dig" } };
  const { body } = await transport.handleRequest(post(call, { "mcp-session-id": "s" }));
  const chunks: string[] = [];
  for await (const chunk of body ?? new ReadableStream<Uint8Array>()) chunks.push(Buffer.from(chunk).toString());
  const events = chunks.filter((chunk) => !chunk.startsWith(":"));
  expect(events).toHaveLength(3);
  for (const event of events) expect(event).toMatch(/^event: message\ndata: .+\n\n$/);
  expect(chunks.find((chunk) => chunk.startsWith(":"))).toMatch(/^: .+\n\n$/);
  await server.close();
});
