/** The published client of tasks (`@modelcontextprotocol/ext-tasks` on the SDK's v2 client), in both generations, over every transport of one process. */
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import {
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTasks, serveHttp, type Tasks } from "../../src/index.js";
import { silent } from "../wire/servers.js";

const TASKS = "io.modelcontextprotocol/tasks";
const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

function newServer(tasks: Tasks): McpServer {
  const server = new McpServer({ name: "test", version: "0" });
  const optional = { execution: { taskSupport: "optional" as const }, pollInterval: 20 };
  tasks.registerTool(server, "dig", optional, async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return { content: [{ type: "text", text: "dug" }], structuredContent: { feet: 3 } };
  });
  tasks.registerTool(server, "must", { ...optional, execution: { taskSupport: "required" } }, () => "must");
  tasks.registerTool(server, "rock", optional, () => Promise.reject(new Error("rock")));
  tasks.registerTool(server, "raises", optional, () => Promise.reject(new ProtocolError(-32042, "sign in")));
  tasks.registerTool(server, "asks", optional, async (_args, ctx) => {
    const first = await ctx.elicit({ message: "First?", requestedSchema: NAME });
    const second = await ctx.elicit({ message: "Second?", requestedSchema: NAME });
    return JSON.stringify([first, second].map((answer) => (answer.action === "accept" ? answer.content?.name : "")));
  });
  tasks.registerTool(server, "endless", optional, async (_args, ctx) => {
    await ctx.cancelToken.wait();
    ctx.cancelToken.checkCancelled();
  });
  return server;
}

const transports: Record<string, (tasks: Tasks) => Promise<Transport>> = {
  "in memory": async (tasks) => {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    const send = serverSide.send.bind(serverSide);
    // As on any other wire: nothing is handed over by reference.
    serverSide.send = (message, options) => send(JSON.parse(JSON.stringify(message)), options);
    const handle = serveStdio(() => newServer(tasks), { transport: serverSide });
    onTestFinished(() => handle.close());
    return clientSide;
  },
  "an HTTP session": (tasks) => overHttp(tasks, true),
  "HTTP without a session": (tasks) => overHttp(tasks, false),
};

async function overHttp(tasks: Tasks, sessions: boolean): Promise<Transport> {
  const serving = await serveHttp(tasks, () => newServer(tasks), { auth: { token: "secret" }, sessions });
  onTestFinished(() => serving.close());
  const requestInit = { headers: { authorization: "Bearer secret" } };
  return new StreamableHTTPClientTransport(new URL(serving.url), { requestInit });
}

const CAPABILITIES = { elicitation: { form: {} } };
const CLIENT = { name: "ext-tasks", version: "0" };

/** Sends what the SDK's client cannot read the answers of, on the same transport. */
function rawDispatch(transport: Transport) {
  const waiting = new Map<unknown, (response: unknown) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const take = "method" in message ? undefined : waiting.get(message.id);
    if (take === undefined) onmessage?.(message, extra);
    else {
      const { error, result } = message as { error?: unknown; result?: unknown };
      take(error === undefined ? { kind: "result", result } : { kind: "error", error });
    }
  };
  let nextId = 0;
  return (request: unknown) => {
    nextId += 1;
    const id = `raw-${nextId}`;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    void transport.send({ jsonrpc: "2.0", ...(request as object), id } as never);
    return answered as never;
  };
}

async function connected(name: string, era: "2025" | "2026"): Promise<TaskEnabledSession> {
  const tasks = createTasks({ logger: silent });
  await tasks.open();
  const transport = await (transports[name] as (tasks: Tasks) => Promise<Transport>)(tasks);
  const mode = era === "2025" ? "legacy" : { pin: "2026-07-28" };
  const client = new Client(CLIENT, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(async () => {
    await client.close();
    await tasks.close();
  });
  const never = (): never => {
    throw new Error("not asked for");
  };
  const input = createApplicationInputHandler({
    elicitation: (request) => ({
      action: "accept",
      content: { name: JSON.stringify(request).includes("First?") ? "Ada" : "Alan" },
    }),
    sampling: never,
    roots: never,
  });
  const framing = {
    protocolVersion: "2026-07-28",
    clientInfo: CLIENT,
    clientCapabilities: { ...CAPABILITIES, extensions: { [TASKS]: {} } },
  };
  const session = createTaskSessionFromClient<void>(client, {
    endpointId: "test",
    onInputRequest: input,
    ...(era === "2026" && { rawDispatch: rawDispatch(transport), v2RequestFraming: framing }),
  } as Parameters<typeof createTaskSessionFromClient<void>>[1]);
  onTestFinished(() => session.close());
  return session;
}

function textOf(outcome: object): string {
  return JSON.stringify(outcome, (_key, value) => (value instanceof Error ? `${value.message} ${value.cause}` : value));
}

describe.each(Object.keys(transports))("over %s", (name) => {
  describe.each(["2025", "2026"] as const)("in the era of %s", (era) => {
    async function settle(tool: string) {
      const session = await connected(name, era);
      const execution = await session.callTool(tool, {}, { task: { preference: "require" } } as never);
      return (await execution.settle()).outcome;
    }

    it("a call is a task from creation to result", async () => {
      expect(JSON.stringify(await settle("dig"))).toContain('"structuredContent":{"feet":3}');
    });

    it("questions reach the application, one after another, and their answers the tool", async () => {
      expect(JSON.stringify(await settle("asks"))).toContain(
        JSON.stringify(JSON.stringify(["Ada", "Alan"])).slice(1, -1),
      );
    });

    it("what failed says why", async () => {
      // An isError result is one that completed in the later generation.
      expect(textOf(await settle("rock"))).toContain("rock");
      expect(textOf(await settle("raises"))).toContain("sign in");
    });

    it("a task that is cancelled ends", async () => {
      const session = await connected(name, era);
      const execution = await session.callTool("endless", {}, { task: { preference: "require" } } as never);
      await execution.cancel();
      expect(JSON.stringify((await execution.settle()).outcome)).toContain("cancelled");
    });
  });
});
