/** A Jupyter Server that misbehaves as told: what a real one cannot be made to do at will. */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import {
  type ConnectionOptions,
  connectKernel,
  JupyterRest,
  type KernelChannel,
  type KernelConnection,
  type KernelMessage,
  serverAddress,
  wireProtocol,
} from "../../src/kernel/index.js";

const TOKEN = "fake-token";

/** One kernel on one server; tests set the members that they want otherwise. */
export class FakeJupyter {
  /** The session of the kernel's process. */
  session = "kernel-1";
  /** What `GET /api/kernels/ID` says; null for 404. */
  executionState: string | null = "idle";
  /** Called with each message of a client. Default: answers `kernel_info_request` on both channels. */
  onMessage: (message: KernelMessage, socket: WebSocket) => void = (message) => this.answerInfo(message);
  /** Called when a client has connected, before it can have sent anything. */
  onConnect: (socket: WebSocket) => void = () => {};
  /** Called with each handshake. */
  onUpgrade: (request: IncomingMessage) => void = () => {};
  /** The HTTP status with which the upgrade is refused; undefined accepts it. */
  refuseWith: number | undefined;
  /** Whether pings are answered. */
  answersPings = true;
  /** The open sockets, and all messages that came, oldest first. */
  readonly sockets: WebSocket[] = [];
  readonly received: KernelMessage[] = [];
  restGets = 0;
  #http: Server | undefined;
  readonly #waiters = new Set<() => void>();

  async listen(): Promise<void> {
    this.#http = createServer((_, response) => {
      this.restGets++;
      this.#wake();
      if (this.executionState === null) response.writeHead(404).end('{"message":"Kernel does not exist"}');
      else response.end(JSON.stringify({ id: "k", name: "fake", execution_state: this.executionState }));
    });
    this.#http.on("upgrade", (request, socket, head) => {
      this.onUpgrade(request);
      if (this.refuseWith !== undefined) {
        socket.end(`HTTP/1.1 ${this.refuseWith} No\r\nConnection: close\r\n\r\n`);
        this.#wake();
        return;
      }
      const server = new WebSocketServer({ noServer: true, autoPong: this.answersPings });
      server.handleUpgrade(request, socket, head, (ws) => this.#accept(ws));
    });
    await new Promise<void>((resolve) => this.#http?.listen(0, "127.0.0.1", resolve));
  }

  get rest(): JupyterRest {
    const address = this.#http?.address() as AddressInfo | undefined;
    return new JupyterRest(serverAddress(`http://127.0.0.1:${address?.port}/`, TOKEN));
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#http?.closeAllConnections();
    await new Promise((resolve) => this.#http?.close(resolve));
  }

  /** Sends a message of the kernel in answer to `parent`, to every client. */
  say(channel: KernelChannel, type: string, content: object, parent?: KernelMessage, session = this.session): void {
    for (const socket of this.sockets) {
      if (socket.readyState === socket.OPEN) socket.send(this.frame(channel, type, content, parent, session, socket));
    }
  }

  frame(
    channel: KernelChannel,
    type: string,
    content: object,
    parent: KernelMessage | undefined,
    session: string,
    socket: WebSocket,
  ): string | Uint8Array {
    const message: KernelMessage = {
      channel,
      header: {
        msg_id: randomUUID(),
        msg_type: type,
        session,
        username: "k",
        date: "2026-01-01T00:00:00Z",
        version: "5.3",
      },
      parent_header: parent?.header ?? {},
      metadata: {},
      content: content as Record<string, unknown>,
      buffers: [],
    };
    return this.encoded(message, socket);
  }

  /** A message as it goes over this socket. */
  encoded(message: KernelMessage, socket: WebSocket): string | Uint8Array {
    return wireProtocol(socket.protocol).encode(message);
  }

  status(state: string, parent?: KernelMessage, session = this.session): void {
    this.say("iopub", "status", { execution_state: state }, parent, session);
  }

  answerInfo(message: KernelMessage): void {
    if (message.header.msg_type !== "kernel_info_request") return;
    this.status("busy", message);
    this.say(message.channel, "kernel_info_reply", { status: "ok" }, message);
    this.status("idle", message);
  }

  /** Waits for the first message of a type after the ones already taken. */
  async next(type: string, after = 0): Promise<KernelMessage> {
    return await this.until(() => this.received.slice(after).find(({ header }) => header.msg_type === type));
  }

  /** Waits until `look` finds something; looked at whenever anything arrives. */
  async until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  #accept(socket: WebSocket): void {
    this.sockets.push(socket);
    socket.on("message", (data: Buffer, isBinary) => {
      const message = wireProtocol(socket.protocol).decode(isBinary ? data : data.toString());
      this.received.push(message);
      this.onMessage(message, socket);
      this.#wake();
    });
    socket.on("pong", () => this.#wake());
    socket.on("close", () => this.#wake());
    this.onConnect(socket);
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }
}

/**
 * Lets messages that are on their way arrive, and what answers them. Both ends are in this process: they need turns of its
 * event loop, however long those take, and some milliseconds.
 */
export async function network(): Promise<void> {
  for (let turns = 0; turns < 12; turns += 1) await pause(5);
}

/** A fake server that is closed when the test is over. */
export async function fakeJupyter(configure: (fake: FakeJupyter) => void = () => {}): Promise<FakeJupyter> {
  const fake = new FakeJupyter();
  configure(fake);
  await fake.listen();
  onTestFinished(() => fake.close());
  return fake;
}

/** A connection to it, closed when the test is over. */
export async function connectFake(
  fake: FakeJupyter,
  options: Partial<ConnectionOptions> = {},
): Promise<KernelConnection> {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const connection = await connectKernel({ rest: fake.rest, kernelId: "k", logger, ...options });
  onTestFinished(() => connection.close());
  return connection;
}
