/**
 * A raw JSON-RPC client over the SDK's in-memory transport: the same few lines drive both servers, so that only the
 * servers differ.
 */
import type { Transport } from "@modelcontextprotocol/server";

type Reply = { id: number; result?: Record<string, unknown>; error?: { code: number; message: string } };

export interface WireClient {
  request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Connects a client that says nothing by itself. */
async function connectRaw(transport: Transport): Promise<WireClient> {
  const waiting = new Map<number, (reply: Reply) => void>();
  let nextId = 1;
  transport.onmessage = (message) => {
    if (!("id" in message) || "method" in message) return;
    const reply = message as unknown as Reply;
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  };
  await transport.start();
  const request: WireClient["request"] = async (method, params) => {
    const id = nextId++;
    const replied = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    await transport.send({ jsonrpc: "2.0", id, method, params } as never);
    const { result, error } = await replied;
    if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`);
    return result ?? {};
  };
  return { request, close: () => transport.close() };
}

/** Connects and initialises a client of the 2025-11-25 revision. */
export async function connectWire(transport: Transport): Promise<WireClient> {
  const client = await connectRaw(transport);
  await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { tasks: { list: {}, cancel: {} } },
    clientInfo: { name: "bench", version: "1" },
  });
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" } as never);
  return client;
}

/** What every request of the 2026-07-28 revision carries in its `_meta`. */
export const ENVELOPE_2026 = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

/** Connects a client of the 2026-07-28 revision; it needs no handshake. */
export async function connectWire2026(transport: Transport): Promise<WireClient> {
  const client = await connectRaw(transport);
  return {
    ...client,
    request: (method, params) => client.request(method, { ...params, _meta: ENVELOPE_2026 }),
  };
}

/** Create → complete → result: one task, all the way. */
export async function roundTrip(client: WireClient, text: string): Promise<void> {
  const created = await client.request("tools/call", { name: "echo", arguments: { text }, task: { ttl: 60_000 } });
  const { taskId } = created.task as { taskId: string };
  const result = await client.request("tasks/result", { taskId });
  if (JSON.stringify(result.content) !== JSON.stringify([{ type: "text", text }]))
    throw new Error(`wrong result: ${JSON.stringify(result)}`);
}
