/** Raw clients of servers with the tools of one test, and what tests wait with. */
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "../../src/index.js";
import { type Declares, envelopeOf, RawClient } from "../../src/testing/index.js";

export { type Declares, type Heard, RawClient, type Reply, type WireTask } from "../../src/testing/index.js";

/** The `_meta` of a 2026-era request that declares `extensions`. */
export function envelope(...extensions: string[]): Record<string, unknown> {
  return envelopeOf({ extensions });
}

/** A server with the tools that `register` puts on it, and a raw client at the other end of an in-memory connection. */
export async function connectInMemory(
  tasks: Tasks,
  register: (server: McpServer) => void,
  declares: Declares | "none" = {},
): Promise<RawClient> {
  await tasks.open();
  const server = new McpServer({ name: "test", version: "0" });
  tasks.bind(server);
  register(server);
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const client = new RawClient(clientSide);
  await clientSide.start();
  if (declares !== "none") await client.initialize(declares);
  return client;
}

/** A promise and the functions that settle it. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void; fail: (error: unknown) => void } {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open: (value) => open(value), fail: (error) => fail(error) };
}
