/** A client of the SDK's second generation that knows nothing of tasks: in either era it gets plain results, and is asked in the way of its era. */
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTasks, serveHttp, type Tasks } from "../../src/index.js";
import { silent } from "../wire/servers.js";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

function newServer(tasks: Tasks): McpServer {
  const server = new McpServer({ name: "test", version: "0" });
  const optional = { execution: { taskSupport: "optional" as const } };
  tasks.registerTool(server, "dig", optional, () => "dug");
  tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "must");
  tasks.registerTool(server, "asks", optional, async (_args, ctx) => {
    const answer = await ctx.elicit({ message: "Who?", requestedSchema: NAME });
    return `Hello, ${answer.action === "accept" ? answer.content?.name : "nobody"}`;
  });
  const askFirst = () => ({ who: { message: "Who?", requestedSchema: NAME } });
  tasks.registerTool(server, "asks_first", { ...optional, askFirst }, (_args, ctx) => JSON.stringify(ctx.answers.who));
  return server;
}

const transports: Record<string, (tasks: Tasks) => Promise<Transport>> = {
  "in memory": async (tasks) => {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    const handle = serveStdio(() => newServer(tasks), { transport: serverSide });
    onTestFinished(() => handle.close());
    return clientSide;
  },
  "an HTTP session": async (tasks) => {
    const serving = await serveHttp(tasks, () => newServer(tasks), { auth: "none" });
    onTestFinished(() => serving.close());
    return new StreamableHTTPClientTransport(new URL(serving.url));
  },
};

describe.each(Object.keys(transports))("over %s", (name) => {
  describe.each(["2025", "2026"] as const)("in the era of %s", (era) => {
    async function connected(): Promise<Client> {
      const tasks = createTasks({ logger: silent });
      await tasks.open();
      const mode = era === "2025" ? "legacy" : { pin: "2026-07-28" };
      const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } } as const;
      const client = new Client({ name: "plain", version: "0" }, options);
      client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
      await client.connect(await (transports[name] as (tasks: Tasks) => Promise<Transport>)(tasks));
      onTestFinished(async () => {
        await client.close();
        await tasks.close();
      });
      return client;
    }

    it("a tool that can be a task is not, and one that must be is refused", async () => {
      const client = await connected();
      expect(await client.callTool({ name: "dig" })).toMatchObject({ content: [{ text: "dug" }] });
      await expect(client.callTool({ name: "must" })).rejects.toMatchObject({ code: era === "2025" ? -32601 : -32021 });
    });

    it("a person is asked in the middle of a call, and before one", async () => {
      const client = await connected();
      expect(await client.callTool({ name: "asks" })).toMatchObject({ content: [{ text: "Hello, Ada" }] });
      expect(await client.callTool({ name: "asks_first" })).toMatchObject({
        content: [{ text: JSON.stringify({ action: "accept", content: { name: "Ada" } }) }],
      });
    });
  });
});
