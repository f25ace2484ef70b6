/** A client that speaks JSON-RPC by hand: what is on the wire is what its user sees. */
import type { JsonObject, JsonValue } from "@claimcheck/core";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";

/** The server's reply to a request, whichever it is. */
export interface Reply {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** A notification or request that the server sent; only a request has an `id`. */
export interface Heard {
  id?: string | number;
  method: string;
  params: Record<string, unknown>;
}

/** What a client of the 2025 era says when it connects. */
export interface Declares {
  /** Default `"2025-11-25"`. */
  protocolVersion?: string;
  /** Ids of extensions. */
  extensions?: readonly string[];
  /** Client capabilities beside the extensions. */
  capabilities?: object;
}

const CLIENT_INFO = { name: "test-client", version: "0" };

/** The `_meta` of a request of the 2026 era that declares `extensions` and `capabilities`. */
export function envelopeOf({ extensions = [], capabilities = {} }: Omit<Declares, "protocolVersion">): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": { ...capabilities, extensions: valuesOf(extensions) },
  };
}

function valuesOf(extensions: readonly string[]): JsonObject {
  return Object.fromEntries(extensions.map((id) => [id, {}]));
}

export class RawClient {
  /** Notifications and requests of the server's, in the order in which they came. */
  readonly heard: Heard[] = [];
  /** Everything that came, in order. */
  readonly log: (Reply | Heard)[] = [];
  /** Told of each notification and request of the server's. */
  onheard: ((message: Heard) => void) | undefined;
  readonly #waiting = new Map<unknown, (reply: Reply) => void>();
  readonly #transport: Transport;
  #nextId = 100;

  constructor(transport: Transport) {
    this.#transport = transport;
    transport.onmessage = (message) => this.#take(copy(message) as Reply & Heard);
  }

  #take(message: Reply & Heard): void {
    this.log.push(message);
    if (typeof message.method === "string") {
      this.heard.push(message);
      this.onheard?.(message);
    } else {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    }
  }

  /** The handshake of the 2025 era. */
  async initialize({
    protocolVersion = "2025-11-25",
    extensions = [],
    capabilities: declared = {},
  }: Declares = {}): Promise<Reply> {
    const capabilities = { ...declared, extensions: valuesOf(extensions) };
    const reply = await this.request("initialize", { protocolVersion, capabilities, clientInfo: CLIENT_INFO });
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

  /** Calls a tool as a task, in a dialect of 2025, and answers the claim check. */
  async callTask(name: string, extra: Record<string, unknown> = {}): Promise<WireTask> {
    const { task } = resultOf(await this.call(name, { task: {}, ...extra })) as { task: WireTask };
    return task;
  }

  /** Sends any message as it would travel: nothing is handed over by reference. */
  send(message: unknown): Promise<void> {
    return this.#transport.send(copy(message) as JSONRPCMessage);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** The `Task` object of revision 2025-11-25. */
export interface WireTask {
  taskId: string;
  status: string;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttl: number;
  pollInterval?: number;
}

/** A JSON-RPC error that the server answered with. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: number;
  readonly data: JsonValue | undefined;

  constructor({ code, message, data }: NonNullable<Reply["error"]>) {
    super(message);
    this.code = code;
    this.data = data as JsonValue | undefined;
  }
}

/** @throws WireError where the reply is an error */
export function resultOf({ result, error }: Reply): Record<string, unknown> {
  if (error !== undefined) throw new WireError(error);
  return result ?? {};
}

function copy(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message));
}
