/** The client side of tasks that the SDK's first generation has. It speaks the era of 2025 alone. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type CallToolRequest, CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TRANSPORTS, type TransportName } from "../protocol/serving.js";
import { type Address, addressOf, Open } from "./address.js";

function transportTo(address: Address): Transport {
  switch (address.kind) {
    case "memory":
      return address.clientSide as unknown as Transport;
    case "stdio":
      return new StdioClientTransport(address);
    case "http": {
      const requestInit = { headers: address.headers };
      return new StreamableHTTPClientTransport(new URL(address.url), { requestInit }) as Transport;
    }
  }
}

async function connected(name: TransportName, enforceStrictCapabilities: boolean, open: Open): Promise<Client> {
  const options = { enforceStrictCapabilities, capabilities: { elicitation: {} } };
  const client = new Client({ name: "v1", version: "0" }, options);
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(transportTo(await addressOf(name, open)));
  open.add(() => client.close());
  return client;
}

describe.each(TRANSPORTS)("over %s", (name) => {
  describe.each([false, true])("capabilities enforced: %s", (enforceStrictCapabilities) => {
    const open = new Open();
    let client: Client;
    beforeAll(async () => {
      client = await connected(name, enforceStrictCapabilities, open);
      await client.listTools();
    });
    afterAll(() => open.close());

    async function stream(params: CallToolRequest["params"], options = {}) {
      const messages = [];
      const task = { ttl: 60_000 };
      const called = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task, ...options });
      for await (const message of called) messages.push(message);
      return messages;
    }

    it("a call is a task from creation to result", async () => {
      const messages = await stream({ name: "echo", arguments: { text: "dug" } });
      expect(messages[0]).toMatchObject({ type: "taskCreated", task: { status: "working", ttl: 60_000 } });
      expect(messages.at(-1)).toMatchObject({ type: "result", result: { structuredContent: { text: "dug" } } });
    });

    it("it decides by itself after tools/list, and a tool that must be a task is one", async () => {
      const messages = await stream({ name: "only_task" }, { task: undefined });
      expect(messages.map(({ type }) => type)).toContain("taskCreated");
      await expect(client.callTool({ name: "only_task" })).rejects.toThrow();
      const called = await client.callTool({ name: "echo", arguments: { text: "dug" } });
      expect(called).toMatchObject({ structuredContent: { text: "dug" } });
    });

    it("questions are asked while it waits for the result", async () => {
      const messages = await stream({ name: "asks", arguments: { questions: ["Who?", "And who?"] } });
      expect(messages.at(-1)).toMatchObject({
        type: "result",
        result: { structuredContent: { names: ["Ada", "Ada"] } },
      });
    });

    it("a failed task is an error", async () => {
      for (const tool of ["throws", "fails", "raises"]) {
        expect((await stream({ name: tool })).at(-1)).toMatchObject({ type: "error" });
      }
    });

    it("get, list, cancel, and the result of what was cancelled", async () => {
      const { tasks } = client.experimental;
      const args = { gate: `${name} ${enforceStrictCapabilities}`, outputs: ["one foot"] };
      const created = tasks.callToolStream({ name: "hold", arguments: args }, CallToolResultSchema, { task: {} });
      const first = (await created.next()).value;
      if (first?.type !== "taskCreated") throw new Error(`no task: ${JSON.stringify(first)}`);
      const { taskId } = first.task;
      expect(await tasks.getTask(taskId)).toMatchObject({ taskId, status: "working" });
      expect((await tasks.listTasks()).tasks.map((task) => task.taskId)).toContain(taskId);
      const look = () => client.callTool({ name: "look", arguments: { gate: args.gate } });
      await expect.poll(look).toMatchObject({ structuredContent: { notes: ["started"] } });
      expect(await tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
      await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
      const result = await tasks.getTaskResult(taskId, CallToolResultSchema);
      expect(result).toMatchObject({ content: [{ text: "one foot" }] });
      await expect(tasks.getTask("tsk_unknown")).rejects.toMatchObject({ code: -32602 });
      await created.return(undefined as never);
    });
  });
});
