import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { startExtraJupyter } from "../../../test/services/jupyter.js";
import { Command } from "./command.js";

// A server of its own: what is killed or handed over here leaves its kernel to anybody.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const jupyter = extra.service;
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };
const HTTP = ["jupyter", "--http", "--port", "0", "--store", "memory"];

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

function post(url: string, headers: Record<string, string>, message: object = INITIALIZE): Promise<Response> {
  const accepts = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return fetch(url, { method: "POST", headers: { ...accepts, ...headers }, body: JSON.stringify(message) });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("a token is made and printed, and nobody is served without it", async () => {
  const command = new Command(HTTP, onJupyter);
  const { url, token } = await command.served();
  expect(token).toMatch(/^[\w-]{32}$/);
  expect((await post(url, bearer(token))).status).toBe(200);
  expect((await post(url, {})).status).toBe(401);
  expect((await post(url, bearer(`${token}x`))).status).toBe(401);
  expect(command.stdout).toBe("");
});

test("a token that was given is not printed", async () => {
  const command = new Command(HTTP, { ...onJupyter, MCP_TOKEN: "our-secret" });
  const { url } = await command.served();
  expect((await post(url, bearer("our-secret"))).status).toBe(200);
  command.process.kill("SIGTERM");
  await command.ended;
  expect(command.stderr).not.toContain("our-secret");
});

test("--no-auth serves everybody on this machine, and says so", async () => {
  const command = new Command([...HTTP, "--no-auth"], onJupyter);
  const { url } = await command.served();
  expect((await post(url, {})).status).toBe(200);
  expect(command.stderr).toContain("can run code as you");
});

test("--contract decides whether tasks/result waits for a task that is working", async () => {
  expect(await collectAtOnce("datalayer")).toMatchObject({ code: -32602, message: expect.stringContaining("working") });
  expect(await collectAtOnce("2025-11-25")).toMatchObject({ content: [{ type: "text", text: "done" }] });
});

/** What tasks/result answers for a cell that has just been called as a task. */
async function collectAtOnce(contract: string): Promise<unknown> {
  const command = new Command([...HTTP, "--no-auth", "--contract", contract], onJupyter);
  const { url } = await command.served();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport);
  const params = { name: "execute_code", arguments: { code: "import time; time.sleep(1); print('done')" }, task: {} };
  const { task } = await client.request(
    { method: "tools/call", params },
    z.looseObject({ task: z.looseObject({ taskId: z.string() }) }),
  );
  const collected = client.request({ method: "tasks/result", params: { taskId: task.taskId } }, z.looseObject({}));
  const answer = await collected.catch((error: unknown) => error);
  await client.close();
  return answer;
}

test("a foreign Host or Origin is refused, and one that was allowed is not", async () => {
  const command = new Command([...HTTP, "--no-auth", "--allow-host", "box.lan"], onJupyter);
  const { url } = await command.served();
  expect(await statusWithHost(url, "evil.example")).toBe(403);
  expect(await statusWithHost(url, "box.lan")).toBe(200);
  expect((await post(url, { origin: "http://evil.example" })).status).toBe(403);
});

/** fetch does not let a caller choose the Host. */
async function statusWithHost(url: string, host: string): Promise<number | undefined> {
  const headers = { host, "content-type": "application/json", accept: "application/json, text/event-stream" };
  const sent = request(url, { method: "POST", headers });
  sent.end(JSON.stringify(INITIALIZE));
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}

test("SIGTERM ends it within the grace period, whatever clients hold open", async () => {
  const command = new Command([...HTTP, "--grace", "10"], onJupyter);
  const { url, token } = await command.served();
  const { port } = new URL(url);
  const opened = await post(url, bearer(token));
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", ...bearer(token) };
  await opened.text();
  // Its headers come with its first event only.
  const stream = request(url, { headers: { ...session, accept: "text/event-stream" } }).on("error", () => {});
  await new Promise<void>((resolve) => stream.end(resolve));
  const idle = connect(Number(port), "127.0.0.1");
  const half = connect(Number(port), "127.0.0.1");
  for (const socket of [idle, half]) socket.on("error", () => {});
  half.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
  await Promise.all([once(idle, "connect"), once(half, "connect")]);
  expect((await post(url, session, { jsonrpc: "2.0", id: 2, method: "ping" })).status).toBe(200);
  command.process.kill("SIGTERM");
  const { code, tookMs } = await command.exit();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(10_000);
});

test("a second signal ends it at once", async () => {
  const command = new Command([...HTTP, "--grace", "60"], onJupyter);
  const { url, token } = await command.served();
  const opened = await post(url, bearer(token));
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", ...bearer(token) };
  const params = { name: "execute_code", arguments: { code: "import time; time.sleep(60)" }, task: {} };
  expect((await post(url, session, { jsonrpc: "2.0", id: 2, method: "tools/call", params })).status).toBe(200);
  command.process.kill("SIGINT");
  // It listens no more: the first signal has been taken.
  while (
    await post(url, session).then(
      () => true,
      () => false,
    )
  )
    await new Promise((resolve) => setTimeout(resolve, 20));
  command.process.kill("SIGINT");
  const { code, tookMs } = await command.exit();
  expect(code).toBe(130);
  expect(tookMs).toBeLessThan(10_000);
});

test("a port that is taken is a start that failed, and says what helps", async () => {
  const first = new Command(HTTP, onJupyter);
  const { url } = await first.served();
  const { port } = new URL(url);
  const second = new Command(["jupyter", "--http", "--port", port, "--store", "memory"], onJupyter);
  expect(await second.ended).toBe(3);
  expect(second.stderr).toContain(`claimcheck: port ${port} of 127.0.0.1 is taken; --port names another`);
});
