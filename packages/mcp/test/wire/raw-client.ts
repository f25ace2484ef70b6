/** A client that speaks JSON-RPC by hand: what is on the wire is what the tests see. */
import { InMemoryTransport, type JSONRPCMessage, McpServer, type Transport } from "@modelcontextprotocol/server";
import type { Tasks } from "../../src/index.js";

export interface Reply {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

export interface Heard {
  method: string;
  params: Record<string, unknown>;
}

export interface Declares {
  protocolVersion?: string;
  /** Ids of extensions. */
  extensions?: readonly string[];
  /** Client capabilities beside the extensions. */
  capabilities?: object;
}

export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
};

/** The `_meta` of a 2026-era request that declares `extensions`. */
export function envelope(...extensions: string[]): Record<string, unknown> {
  const declared = Object.fromEntries(extensions.map((id) => [id, {}]));
  return { ...ENVELOPE, "io.modelcontextprotocol/clientCapabilities": { extensions: declared } };
}

export class RawClient {
  /** Notifications, in the order in which they came. */
  readonly heard: Heard[] = [];
  /** Everything that came, in order. */
  readonly log: (Reply | Heard)[] = [];
  readonly #waiting = new Map<unknown, (reply: Reply) => void>();
  readonly #transport: Transport;
  #nextId = 100;

  constructor(transport: Transport) {
    this.#transport = transport;
    transport.onmessage = (message) => this.#take(JSON.parse(JSON.stringify(message)) as Reply & Heard);
  }

  #take(message: Reply & Heard): void {
    this.log.push(message);
    if (typeof message.method === "string") this.heard.push(message);
    else this.#waiting.get(message.id)?.(message);
  }

  async initialize({
    protocolVersion = "2025-11-25",
    extensions = [],
    capabilities: declared = {},
  }: Declares = {}): Promise<Reply> {
    const capabilities = { ...declared, extensions: Object.fromEntries(extensions.map((id) => [id, {}])) };
    const clientInfo = { name: "raw", version: "0" };
    const reply = await this.request("initialize", { protocolVersion, capabilities, clientInfo });
    await this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return reply;
  }

  /** Sends a request and waits for its reply, whichever it is. */
  request(method: string, params?: unknown, id: string | number = this.#nextId++): Promise<Reply> {
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    void this.send({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
    return reply;
  }

  call(name: string, extra: Record<string, unknown> = {}): Promise<Reply> {
    return this.request("tools/call", { name, arguments: {}, ...extra });
  }

  /** Calls a tool as a task and answers the claim check. */
  async callTask(name: string, extra: Record<string, unknown> = {}): Promise<WireTask> {
    const reply = await this.call(name, { task: {}, ...extra });
    if (reply.error !== undefined) throw new Error(`${reply.error.code}: ${reply.error.message}`);
    return (reply.result as { task: WireTask }).task;
  }

  send(message: unknown): Promise<void> {
    return this.#transport.send(JSON.parse(JSON.stringify(message)) as JSONRPCMessage);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

export interface WireTask {
  taskId: string;
  status: string;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttl: number;
  pollInterval?: number;
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

/** Resolves as soon as `condition` holds, looking after every turn of the event loop. */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  const until = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`still not so after ${withinMs} ms: ${condition}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
