/** Real clients over HTTP, on real kernels. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createTasks, type HttpServing, serveHttp } from "@claimcheck/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { callOf, type Live, startLive, textOf, WAYS, type Way } from "./live-server.js";

const service = inject("jupyter");
const TOKEN = "secret";

async function serve(live: Live): Promise<HttpServing> {
  const serving = await serveHttp(live.jupyter.tasks, live.jupyter.factory, { auth: { token: TOKEN } });
  onTestFinished(() => serving.close());
  return serving;
}

/** The client of the SDK's first generation. */
async function connectV1({ url }: HttpServing): Promise<Client> {
  const client = new Client({ name: "v1", version: "0" });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }) as Transport);
  onTestFinished(() => client.close());
  await client.listTools();
  return client;
}

type Contract = "datalayer" | "2025-11-25";

async function startWith(contract: Contract): Promise<Live> {
  if (contract === "datalayer") return await startLive(service);
  const tasks = createTasks({ contract, ownership: "single-user" });
  return await startLive(service, { tasks });
}

/** Every message of a call as the client streams them. */
async function stream(client: Client, live: Live, way: Way, code: string) {
  const { name, args } = await callOf(live, way, code);
  const messages = [];
  const params = { name, arguments: args };
  const streamed = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } });
  for await (const message of streamed) messages.push(message);
  return messages;
}

describe.each(["datalayer", "2025-11-25"] as const)("the client of SDK v1, under the contract %s", (contract) => {
  test.each(WAYS)("takes %s from its creation to its whole result", async (way) => {
    const live = await startWith(contract);
    const client = await connectV1(await serve(live));
    const messages = await stream(client, live, way, "for i in range(100): print(i)\n'done'");
    expect(messages[0]).toMatchObject({ type: "taskCreated", task: { status: "working" } });
    const last = messages.at(-1);
    if (last?.type !== "result") throw new Error(JSON.stringify(last));
    expect(textOf(last.result)).toMatch(/^0\n1\n[\s\S]*99\n'done'$/);
  });

  test("cancels a cell half-way and collects what it printed", async () => {
    const live = await startWith(contract);
    const client = await connectV1(await serve(live));
    const { tasks } = client.experimental;
    const params = {
      name: "execute_code",
      arguments: { code: "print('half', flush=True)\nimport time; time.sleep(600)" },
    };
    const created = (await tasks.callToolStream(params, CallToolResultSchema, { task: {} }).next()).value;
    if (created?.type !== "taskCreated") throw new Error(JSON.stringify(created));
    const { taskId } = created.task;
    await expect.poll(async () => (await tasks.getTask(taskId)).statusMessage).toContain("half");
    expect(await tasks.cancelTask(taskId)).toMatchObject({ status: "cancelled" });
    expect(textOf(await tasks.getTaskResult(taskId, CallToolResultSchema))).toMatch(/^half\n/);
  });
});

test("a direct call of the client of SDK v1 returns the tool's output", async () => {
  const live = await startLive(service);
  const client = await connectV1(await serve(live));
  expect(await client.callTool({ name: "execute_code", arguments: { code: "6 * 7" } })).toMatchObject({
    content: [{ type: "text", text: "42" }],
    structuredContent: { status: "completed" },
  });
});

/** Asks for a task, says its id, and is there until it is killed. */
const DOOMED_CLIENT = `
const [url, token, code] = process.argv.slice(1);
const headers = { authorization: "Bearer " + token, accept: "application/json, text/event-stream", "content-type": "application/json" };
const post = async (message) => {
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  headers["mcp-session-id"] ??= response.headers.get("mcp-session-id");
  const text = await response.text();
  return text.match(/tsk_[\\w-]+/)?.[0];
};
await post({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "doomed", version: "0" } } });
await post({ method: "notifications/initialized" });
console.log(await post({ id: 2, method: "tools/call", params: { name: "execute_code", arguments: { code }, task: {} } }));
setInterval(() => {}, 1000);
`;

test("a client that is killed right after the claim check costs nothing: another collects the whole output", async () => {
  const live = await startLive(service);
  const { url } = await serve(live);
  const code = "import time\nfor i in range(400):\n    print(i)\n    time.sleep(0.005)\n'done'";
  const doomed = spawn(process.execPath, ["--input-type=module", "-e", DOOMED_CLIENT, url, TOKEN, code]);
  const [said] = await once(doomed.stdout, "data");
  const taskId = String(said).trim();
  doomed.kill("SIGKILL");
  await once(doomed, "exit");

  const client = await live.connect();
  expect(await client.get(taskId)).toMatchObject({ status: "working" });
  const result = await client.collect(taskId);
  expect(textOf(result)).toBe(`${Array.from({ length: 400 }, (_, index) => index).join("\n")}\n'done'`);
});
