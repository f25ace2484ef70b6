/** The handler in somebody's own server: a function of a request, without a port of ours. */
import { type AuthInfo, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createHttpHandler, createTasks, type HttpHandlerOptions, type HttpSender } from "../../src/index.js";
import { envelope } from "../wire/raw-client.js";
import { OPTIONAL, silent } from "../wire/servers.js";
import { ACCEPT, messagesOf, replyOf } from "./http-client.js";

const EXTENSION = "io.modelcontextprotocol/tasks";
const URL_OF_THE_AUTHOR = "https://example.com/tools/mcp";

async function handling(options: HttpHandlerOptions = {}) {
  const tasks = createTasks({ logger: silent });
  const newServer = () => {
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
    return server;
  };
  const handler = await createHttpHandler(tasks, newServer, options);
  onTestFinished(async () => {
    await handler.close();
    await tasks.close();
  });
  const post = (body: unknown, headers: Record<string, string> = {}, from?: HttpSender) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const init = { method: "POST", headers: { ...ACCEPT, ...headers }, body: text };
    return handler.fetch(new Request(URL_OF_THE_AUTHOR, init), from);
  };
  const modern = (method: string, params: object, from?: HttpSender) => {
    const { taskId, name = taskId } = params as { taskId?: string; name?: string };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name && { "mcp-name": name }) };
    const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(EXTENSION) } };
    return post(body, headers, from);
  };
  return { handler, post, modern };
}

function as(subject: string): HttpSender {
  const authInfo: AuthInfo = {
    token: "t",
    clientId: "c",
    scopes: [],
    extra: { iss: "https://id.example", sub: subject },
  };
  return { authInfo };
}

const HELLO = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } },
};

it("has sessions, whose streams can be taken up again", async () => {
  const { handler, post } = await handling();
  const opened = await post(HELLO);
  await opened.text();
  const headers = {
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const called = await post(
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "dig", task: {} } },
    headers,
  );
  const text = await called.text();
  expect(text).toContain('"status":"working"');
  const lastEventId = /^id: (.+)$/m.exec(text)?.[1] ?? "";
  const again = new Request(URL_OF_THE_AUTHOR, { headers: { ...ACCEPT, ...headers, "last-event-id": lastEventId } });
  const replayed = await handler.fetch(again);
  expect((await replyOf(replayed)).result).toMatchObject({ task: { status: "working" } });
});

it("gives tasks to whom the server around it has verified, and to nobody else", async () => {
  const { modern } = await handling();
  const created = await replyOf(await modern("tools/call", { name: "dig", arguments: {} }, as("ann")));
  const { taskId } = created.result as { taskId: string };
  const statusFor = async (from?: HttpSender) =>
    (await replyOf(await modern("tasks/get", { taskId }, from))).result?.status;
  expect([await statusFor(as("ann")), await statusFor(as("bob")), await statusFor()]).toEqual([
    expect.stringMatching(/working|completed/),
    undefined,
    undefined,
  ]);
});

it("serves subscriptions to tasks, and ends them when it closes", async () => {
  const { handler, modern } = await handling();
  const from = as("ann");
  const created = await replyOf(await modern("tools/call", { name: "dig", arguments: {} }, from));
  const { taskId } = created.result as { taskId: string };
  const response = await modern("subscriptions/listen", { notifications: { taskIds: [taskId] } }, from);
  const messages: unknown[] = [];
  const read = (async () => {
    for await (const message of messagesOf(response)) messages.push(message);
  })();
  await handler.close();
  await read;
  expect(messages[0]).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
  expect(messages.at(-1)).toMatchObject({ id: 1, result: {} });
});

it("takes a body that has been parsed, and reads no more than it may of one that has not", async () => {
  const { handler, post } = await handling({ maxBodyBytes: 1000 });
  const asked = new Request(URL_OF_THE_AUTHOR, { method: "POST", headers: ACCEPT });
  const opened = await handler.fetch(asked, { parsedBody: HELLO });
  expect(opened.headers.get("mcp-session-id")).not.toBeNull();
  expect((await post("x".repeat(1001))).status).toBe(413);
  expect(await replyOf(await post("{"))).toMatchObject({ error: { code: -32700 } });
});
