/**
 * A client of the newest protocol (2026-07-28) for the server of quick-start.ts: one client calls, gets the claim check and
 * leaves; another one collects. It ends with an error if anything goes otherwise than it should.
 */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type RawClientDispatch,
  resultFromTaskOutcome,
  type SerializedTaskReference,
} from "@modelcontextprotocol/ext-tasks/client";

const url = process.argv[2] ?? "http://127.0.0.1:3000/mcp";

// What every request of this protocol says of its client. Who names the extension can be given a task for any call.
const clientInfo = { name: "reader", version: "1.0.0" };
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const framing = { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: capabilities };

async function connect() {
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    rawDispatch: rawDispatch(transport),
    v2RequestFraming: framing,
  });
  return { client, session };
}

/** The SDK's client cannot read a claim check yet, so requests about tasks go past it, on the same transport. */
function rawDispatch(transport: Transport): RawClientDispatch {
  type Response = Awaited<ReturnType<RawClientDispatch>>;
  const waiting = new Map<unknown, (response: Response) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const take = "method" in message ? undefined : waiting.get(message.id);
    if (take === undefined) return onmessage?.(message, extra);
    waiting.delete((message as { id?: unknown }).id);
    take(("error" in message ? { kind: "error", ...message } : { kind: "result", ...message }) as Response);
  };
  let sent = 0;
  return (request) =>
    new Promise((resolve, reject) => {
      sent += 1;
      const id = `task-${sent}`;
      waiting.set(id, resolve);
      transport.send({ jsonrpc: "2.0", ...(request as object), id } as never).catch(reject);
    });
}

async function call(): Promise<SerializedTaskReference> {
  const { client, session } = await connect();
  const execution = await session.callTool("build_report", { year: 2026 });
  assert(execution.kind === "task", "the server answered without a task");
  const claimCheck = execution.serializeReference();
  await execution.detach(); // the task goes on
  await session.close();
  await client.close();
  return claimCheck;
}

async function collect(claimCheck: SerializedTaskReference): Promise<unknown> {
  const { client, session } = await connect();
  const execution = await session.resumeTask(claimCheck);
  const { outcome } = await execution.settle();
  await session.close();
  await client.close();
  return resultFromTaskOutcome(outcome).content;
}

// Plain JSON: it may be kept in a file, and collected from another process.
const claimCheck = await call();
console.log(`called, and left with the claim check ${claimCheck.taskId}`);
const content = await collect(claimCheck);
console.log(`another client collected ${JSON.stringify(content)}`);
assert.deepEqual(content, [{ type: "text", text: "The report of 2026 is ready." }]);
