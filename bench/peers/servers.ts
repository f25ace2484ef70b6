/** The two servers that are compared: ours, and SDK v1's with its `InMemoryTaskStore`. Both have one tool, `echo`. */
import { createTasks } from "@claimcheck/mcp";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { InMemoryTransport as InMemoryTransportV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { connectWire, type WireClient } from "./in-memory-wire.js";

export interface Peer {
  name: string;
  client: WireClient;
  /** When the tool last ended, by `performance.now()`. */
  endedAt(): number;
  close(): Promise<void>;
}

/** How long the tool works, ms; 0: it answers at once. */
export interface EchoOptions {
  workMs: number;
}

/** Works for `ms`, and notes when it ended. */
class Work {
  endedAt = 0;
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  async run(): Promise<void> {
    if (this.#ms > 0) await new Promise((resolve) => setTimeout(resolve, this.#ms));
    this.endedAt = performance.now();
  }
}

export async function claimcheckPeer({ workMs }: EchoOptions): Promise<Peer> {
  const work = new Work(workMs);
  const tasks = createTasks({ contract: "2025-11-25" });
  const server = new McpServer({ name: "claimcheck", version: "1" });
  tasks.registerTool(
    server,
    "echo",
    { description: "Echo", inputSchema: z.object({ text: z.string() }), execution: { taskSupport: "optional" } },
    async ({ text }) => {
      await work.run();
      return { content: [{ type: "text", text }] };
    },
  );
  await tasks.open();
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = await connectWire(near);
  return {
    name: "claimcheck",
    client,
    endedAt: () => work.endedAt,
    close: async () => {
      await client.close();
      await tasks.close();
    },
  };
}

export async function sdkV1Peer({ workMs }: EchoOptions): Promise<Peer> {
  const work = new Work(workMs);
  const store = new InMemoryTaskStore();
  const server = new McpServerV1(
    { name: "sdk-v1", version: "1" },
    {
      taskStore: store,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    },
  );
  server.experimental.tasks.registerToolTask(
    "echo",
    { description: "Echo", inputSchema: { text: z.string() }, execution: { taskSupport: "optional" } },
    {
      createTask: async ({ text }, extra) => {
        const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? null });
        const done = (async () => {
          await work.run();
          await extra.taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text }] });
        })();
        done.catch(() => {});
        return { task };
      },
      getTask: (_args, extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (_args, extra) => (await extra.taskStore.getTaskResult(extra.taskId)) as never,
    },
  );
  const [near, far] = InMemoryTransportV1.createLinkedPair();
  await server.connect(far);
  const client = await connectWire(near as never);
  return {
    name: "sdk-v1",
    client,
    endedAt: () => work.endedAt,
    close: async () => {
      await client.close();
      store.cleanup();
    },
  };
}
