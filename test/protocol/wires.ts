/** What carries JSON-RPC messages between a client and the server, message by message and as they are. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { serveStdio } from "@claimcheck/mcp";
import { type AuthInfo, InMemoryTransport, type JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";
import { messagesOf } from "../../packages/mcp/test/http/http-client.js";
import type { Served } from "./tools.js";

export interface Message {
  jsonrpc?: "2.0";
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** What only HTTP has. */
export interface HttpPart {
  headers?: Record<string, string>;
  /** Hangs up. */
  signal?: AbortSignal;
}

export interface Wire {
  /** Told of each message that comes, in order. */
  onmessage: (message: Message) => void;
  send(message: Message, http?: HttpPart): void;
  close(): Promise<void>;
}

/**
 * A connection in this process, whose messages carry what a token proved, if any did. The SDK's entry for either
 * generation hands on nothing of that, so it serves whoever has proved nothing.
 */
export async function memoryWire({ tasks, newServer }: Served, authInfo: AuthInfo | undefined): Promise<Wire> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const server = authInfo === undefined ? await serveStdio(tasks, newServer, { transport: serverSide }) : newServer();
  if (server instanceof McpServer) await server.connect(serverSide);
  const wire: Wire = {
    onmessage: () => {},
    // As on any other wire, nothing is handed over by reference.
    send: (message) =>
      void clientSide.send(copy(message) as JSONRPCMessage, authInfo === undefined ? {} : { authInfo }),
    close: () => server.close(),
  };
  clientSide.onmessage = (message) => wire.onmessage(copy(message) as Message);
  return wire;
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** The command that serves the tools of `tools.ts` in `contract` on its stdin and stdout. */
export function stdioCommand(contract: string): { command: string; args: string[] } {
  const loader = new URL("../../scripts/typescript.mjs", import.meta.url).href;
  const program = fileURLToPath(new URL("./stdio-server.ts", import.meta.url));
  return { command: process.execPath, args: ["--import", loader, program, contract] };
}

/** What goes through pipes, line by line. */
export interface PipedWire extends Wire {
  /** The server's stdin, for what is no message. */
  readonly stdin: Writable;
  /** Lines of stdout that are no JSON. */
  readonly garbage: string[];
}

function pipedWire(stdin: Writable, stdout: Readable, close: () => Promise<void>): PipedWire {
  const wire: PipedWire = {
    stdin,
    garbage: [],
    onmessage: () => {},
    send: (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close,
  };
  createInterface(stdout).on("line", (line) => {
    const message = parsed(line);
    if (message === undefined) wire.garbage.push(line);
    else wire.onmessage(message);
  });
  return wire;
}

/** Pipes to a process that serves the tools in `contract`. */
export function stdioWire(contract: string): PipedWire & { process: ChildProcess } {
  const { command, args } = stdioCommand(contract);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  const exited = once(child, "exit");
  child.stdin.on("error", () => {});
  const wire = pipedWire(child.stdin, child.stdout, async () => {
    child.stdin.end();
    const kill = setTimeout(() => child.kill("SIGKILL"), 5000);
    await exited;
    clearTimeout(kill);
  });
  return Object.assign(wire, { process: child });
}

/** Pipes within this process. */
export async function localPipes({ tasks, newServer }: Served): Promise<PipedWire> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const serving = await serveStdio(tasks, newServer, { stdin, stdout });
  return pipedWire(stdin, stdout, () => serving.close());
}

function parsed(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return undefined;
  }
}

/** Streamable HTTP by hand: each message a POST; with a session, its own stream beside them. */
export class HttpWire implements Wire {
  onmessage: (message: Message) => void = () => {};
  readonly #url: string;
  /** Of every request; in a session, with its id. */
  readonly headers: Record<string, string>;
  readonly #closed = new AbortController();
  /** The status of the last response. */
  status = 0;

  constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.headers = { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers };
  }

  send(message: Message, { headers = {}, signal }: HttpPart = {}): void {
    const stop = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    void this.#exchange(message, headers, stop).catch((error: unknown) => {
      if (!stop.aborted) this.onmessage({ ...idOf(message), error: { code: 0, message: String(error) } });
    });
  }

  async #exchange(message: Message, headers: Record<string, string>, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(message);
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { ...this.headers, ...headers },
      body,
      signal,
    });
    this.status = response.status;
    const sessionId = response.headers.get("mcp-session-id");
    if (message.method === "initialize" && sessionId !== null) await this.#enter(sessionId);
    // What belongs to no request belongs to the one that this is the response to.
    for await (const came of messagesOf(response)) {
      this.onmessage({ ...(came as Message), ...(came.id === null && idOf(message)) });
    }
  }

  /** Goes on in the session, and hears what it has to say by itself. */
  async #enter(sessionId: string): Promise<void> {
    this.headers["mcp-session-id"] = sessionId;
    const { signal } = this.#closed;
    const response = await fetch(this.#url, { headers: this.headers, signal });
    const hear = async (): Promise<void> => {
      for await (const came of messagesOf(response)) this.onmessage(came as Message);
    };
    void hear().catch(() => {});
  }

  async close(): Promise<void> {
    const ended =
      "mcp-session-id" in this.headers ? fetch(this.#url, { method: "DELETE", headers: this.headers }) : undefined;
    await ended?.catch(() => {});
    this.#closed.abort();
  }
}

function idOf({ id }: Message): { id?: string | number | null } {
  return id === undefined ? {} : { id };
}
