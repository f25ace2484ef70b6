/** Real clients of sessions over real sockets, which break while a call or a task's result is waited for. */
import { serveHttp } from "@claimcheck/mcp";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { verifyToken } from "../protocol/serving.js";
import { servedTools } from "../protocol/tools.js";
import { startTcpProxy, type TcpProxy } from "../services/tcp-proxy.js";

const HEADERS = { authorization: "Bearer ada" };

interface Resuming {
  resumptionToken?: string;
  onresumptiontoken?: (token: string) => void;
}

/** One client, as far as both generations are alike. */
interface AnyClient {
  readonly sessionId: string | undefined;
  /** The statuses that its requests with a last event id were answered with. */
  readonly resumed: number[];
  request(method: string, params: Record<string, unknown>, options?: Resuming): Promise<Record<string, unknown>>;
  onNotification(heard: (method: string, params: Record<string, unknown> | undefined) => void): void;
  close(): Promise<void>;
}

type Connect = (url: string, sessionId?: string) => Promise<AnyClient>;

/** What both transports are made of: they come back soon, and what they were answered then is seen. */
function transportOptions(resumed: number[], sessionId: string | undefined) {
  const reconnectionOptions = {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 500,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 10,
  };
  const seen = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (new Headers(init?.headers).has("last-event-id")) resumed.push(response.status);
    return response;
  };
  return { requestInit: { headers: HEADERS }, reconnectionOptions, fetch: seen, ...(sessionId && { sessionId }) };
}

const connectV1: Connect = async (url, sessionId) => {
  const resumed: number[] = [];
  const transport = new TransportV1(new URL(url), transportOptions(resumed, sessionId));
  const client = new ClientV1({ name: "v1", version: "0" });
  await client.connect(transport as Transport);
  const schemaOf = (params: object) => ("task" in params ? CreateTaskResultSchema : CallToolResultSchema);
  return {
    get sessionId() {
      return transport.sessionId;
    },
    resumed,
    request: (method, params, options) =>
      client.request({ method, params } as never, schemaOf(params), options) as Promise<Record<string, unknown>>,
    onNotification: (heard) => {
      client.fallbackNotificationHandler = async ({ method, params }) => heard(method, params);
    },
    close: () => client.close(),
  };
};

const connectV2: Connect = async (url, sessionId) => {
  const resumed: number[] = [];
  const transport = new TransportV2(new URL(url), transportOptions(resumed, sessionId));
  const client = new ClientV2({ name: "v2", version: "0" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(transport);
  const anything = z.record(z.string(), z.unknown());
  return {
    get sessionId() {
      return transport.sessionId;
    },
    resumed,
    request: (method, params, options) => client.request({ method, params }, anything, options),
    onNotification: (heard) => {
      client.fallbackNotificationHandler = async ({ method, params }) => heard(method, params);
    },
    close: () => client.close(),
  };
};

/** The tools behind a line that breaks. `steer` calls a tool over another that does not. */
async function behindProxy(connect: Connect) {
  const { tasks, newServer } = servedTools("2025-11-25");
  await tasks.open();
  const serving = await serveHttp(tasks, newServer, { auth: { verifyToken } });
  const proxy = await startTcpProxy(serving.port);
  const url = `http://127.0.0.1:${proxy.port}/mcp`;
  const [client, steering] = [await connect(url), await connect(serving.url)];
  onTestFinished(async () => {
    await Promise.all([client.close(), steering.close()]);
    await proxy.close();
    await serving.close();
    await tasks.close();
  });
  const steer = (name: string) => steering.request("tools/call", { name, arguments: { gate: "g" } });
  const notes = async () => ((await steer("look")).structuredContent as { notes: string[] }).notes;
  return { client, url, proxy, steer, notes, tasks };
}

const HOLD = { name: "hold", arguments: { gate: "g" } };
const LET_GO = { content: [{ type: "text", text: "let go" }] };

/** Cuts the line, and waits until the client has come back over a new one. */
async function breakLine(proxy: TcpProxy, client: AnyClient): Promise<void> {
  proxy.cut();
  await expect.poll(() => client.resumed.length).toBeGreaterThan(0);
}

describe.each([
  ["first", connectV1],
  ["second", connectV2],
] as const)("the client of the SDK's %s generation", (_generation, connect) => {
  it("gets the answer to a direct call whose connection broke, and the call has run once", async () => {
    const { client, proxy, steer, notes } = await behindProxy(connect);
    const answer = client.request("tools/call", HOLD);
    await expect.poll(notes).toEqual(["started"]);
    await breakLine(proxy, client);
    await steer("open_gate");
    expect(await answer).toMatchObject(LET_GO);
    expect(await notes()).toEqual(["started", "finished"]);
  });

  it("gets the result of a task that it waits for while its connection breaks, more than once", async () => {
    const { client, proxy, steer, tasks } = await behindProxy(connect);
    const { task } = await client.request("tools/call", { ...HOLD, task: {} });
    const { taskId } = task as { taskId: string };
    const told: string[] = [];
    const options = { onresumptiontoken: (token: string) => void told.push(token) };
    const result = client.request("tasks/result", { taskId }, options);
    await expect.poll(() => told).not.toEqual([]);
    await breakLine(proxy, client);
    client.resumed.length = 0;
    await breakLine(proxy, client);
    await steer("open_gate");
    expect(await result).toMatchObject(LET_GO);
    await expect.poll(() => tasks.runtime.gauges.watchedTasks).toBe(0);
  });

  it("hears what its session had to tell while it was away", async () => {
    const { client, proxy, steer } = await behindProxy(connect);
    const heard: unknown[] = [];
    client.onNotification((method, params) => void heard.push([method, params?.status]));
    await client.request("tools/call", { ...HOLD, task: {} });
    proxy.swallow({ toServer: true, toClient: true });
    await steer("open_gate");
    proxy.cut();
    proxy.swallow({});
    await expect.poll(() => heard).toContainEqual(["notifications/tasks/status", "completed"]);
  });

  it("collects from another process what it had called before its own ended, by session and token", async () => {
    const { client, url, steer, notes } = await behindProxy(connect);
    let token = "";
    const onresumptiontoken = (given: string): void => {
      token = given;
    };
    client.request("tools/call", HOLD, { onresumptiontoken }).catch(() => {});
    await expect.poll(notes).toEqual(["started"]);
    await expect.poll(() => token).not.toBe("");
    await client.close();
    const later = await connect(url, client.sessionId);
    onTestFinished(() => later.close());
    const answer = later.request("tools/call", HOLD, { resumptionToken: token });
    await expect.poll(() => later.resumed).toContain(200);
    await steer("open_gate");
    expect(await answer).toMatchObject(LET_GO);
    expect(await notes()).toEqual(["started", "finished"]);
  });

  it("does not come again and again for what has been answered with an error", async () => {
    const { client } = await behindProxy(connect);
    for (let i = 0; i < 5; i += 1) {
      await expect(client.request("tools/call", { name: "raises" })).rejects.toMatchObject({ code: -32042 });
    }
    for (let i = 0; i < 50; i += 1) await client.request("tools/call", { name: "echo", arguments: { text: "dug" } });
    expect(client.resumed.length).toBeLessThanOrEqual(5);
    expect(client.resumed.every((status) => status === 204)).toBe(true);
  });
});
