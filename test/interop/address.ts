/** Where a client of somebody else's finds the tools, over each transport; everything is closed when the file is over. */
import { serveHttp, serveStdio } from "@claimcheck/mcp";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { type TransportName, verifyToken } from "../protocol/serving.js";
import { servedTools } from "../protocol/tools.js";
import { stdioCommand } from "../protocol/wires.js";

export type Address =
  | { kind: "memory"; clientSide: InMemoryTransport }
  | { kind: "stdio"; command: string; args: string[] }
  | { kind: "http"; url: string; headers: Record<string, string> };

/** What was opened, in the order in which to close it. */
export class Open {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closers.unshift(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }
}

export async function addressOf(transport: TransportName, open: Open): Promise<Address> {
  if (transport === "stdio") return { kind: "stdio", ...stdioCommand("2025-11-25") };
  const { tasks, newServer } = servedTools("2025-11-25");
  await tasks.open();
  open.add(() => tasks.close());
  if (transport === "in memory") {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    const send = serverSide.send.bind(serverSide);
    // As on any other wire: nothing is handed over by reference.
    serverSide.send = (message, options) => send(JSON.parse(JSON.stringify(message)), options);
    const handle = await serveStdio(tasks, newServer, { transport: serverSide });
    open.add(() => handle.close());
    return { kind: "memory", clientSide };
  }
  const sessions = transport === "HTTP with sessions";
  const serving = await serveHttp(tasks, newServer, { auth: { verifyToken }, sessions });
  open.add(() => serving.close());
  return { kind: "http", url: serving.url, headers: { authorization: "Bearer ada" } };
}
