/** One WebSocket to a kernel's channels: from the handshake to its end, without any memory beyond that. */

import { type ClientRequest, type IncomingMessage, STATUS_CODES } from "node:http";
import type { Clock } from "@claimcheck/core";
import { type RawData, WebSocket } from "ws";
import { authorization, type ServerAddress, socketEndpoint } from "./address.js";
import { errorOfStatus, JupyterError } from "./errors.js";
import { type KernelMessage, type MalformedFrameError, wireProtocol } from "./wire.js";

/** Which channels to open, and how. */
export interface SocketOptions {
  address: ServerAddress;
  kernelId: string;
  sessionId: string;
  /** Subprotocols to offer; none means the legacy protocol. */
  subprotocols: readonly string[];
  handshakeTimeoutMs: number;
  /** A larger message ends the socket. */
  maxPayloadBytes: number;
  clock: Clock;
}

/** Who listens. Messages may come in the very tick in which the socket opens. */
export interface SocketHandlers {
  onMessage(message: KernelMessage): void;
  onMalformed(error: MalformedFrameError): void;
  /** Called once, and only for a socket that had opened. */
  onClosed(end: SocketEnd): void;
}

/** How an open socket ended. */
export interface SocketEnd {
  code: number;
  /** For people. */
  reason: string;
  /** A message was larger than a limit, here or there, and is lost. */
  tooLarge: boolean;
}

const MESSAGE_TOO_BIG = 1009;
const CLOSE_GRACE_MS = 1_000;

/** An open socket. */
export class KernelSocket {
  readonly #ws: WebSocket;
  readonly #clock: Clock;
  #receivedAt: number;
  #pongScheduled = false;

  constructor(ws: WebSocket, clock: Clock) {
    this.#ws = ws;
    this.#clock = clock;
    this.#receivedAt = clock.now();
    ws.on("ping", () => this.#note());
    ws.on("pong", () => this.#note());
  }

  /** When anything came last, a pong included; epoch milliseconds. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  send(message: KernelMessage): void {
    this.#ws.send(wireProtocol(this.#ws.protocol).encode(message));
  }

  /** Asks for a sign of life. */
  ping(): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.ping();
  }

  /** Ends the socket without waiting for the other side. */
  terminate(): void {
    this.#ws.terminate();
  }

  /** Closes in an orderly way, and within a second even if the other side never answers. */
  close(): Promise<void> {
    if (this.#ws.readyState === WebSocket.CLOSED) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(() => this.#ws.terminate(), CLOSE_GRACE_MS);
      this.#ws.once("close", () => {
        this.#clock.clearTimer(timer);
        resolve();
      });
      this.#ws.close(1000);
    });
  }

  /**
   * Notes that something came, and acknowledges the batch of messages that it belongs to with one unsolicited pong
   * (RFC 6455, 5.5.3). The server does not set TCP_NODELAY: without a frame from us its next message waits for our
   * delayed ACK, some 40 ms for each request.
   */
  acknowledge(): void {
    this.#note();
    if (this.#pongScheduled) return;
    this.#pongScheduled = true;
    setImmediate(() => {
      this.#pongScheduled = false;
      if (this.#ws.readyState === WebSocket.OPEN) this.#ws.pong("", true);
    });
  }

  #note(): void {
    this.#receivedAt = this.#clock.now();
  }
}

/**
 * Opens the channels of a kernel.
 * @throws JupyterError `unreachable`, `unauthorized`, `not_found` (no such kernel), `server_error` or `refused`
 */
export function openSocket(options: SocketOptions, handlers: SocketHandlers): Promise<KernelSocket> {
  const ws = createWebSocket(options);
  const socket = new KernelSocket(ws, options.clock);
  let lastError: Error | undefined;
  ws.on("message", (data, isBinary) => {
    socket.acknowledge();
    receive(ws, isBinary ? asBytes(data) : asBytes(data).toString(), handlers);
  });
  ws.on("error", (error) => {
    lastError = error;
  });
  return new Promise((resolve, reject) => {
    ws.once("open", () => {
      ws.once("close", (code, reason) => handlers.onClosed(endOf(code, reason.toString(), lastError)));
      resolve(socket);
    });
    ws.once("unexpected-response", (request, response) => {
      reject(refusal(options, response));
      abandon(ws, request);
    });
    ws.once("error", (error) => reject(unreachable(options, error)));
  });
}

function createWebSocket(options: SocketOptions): WebSocket {
  const url = socketEndpoint(options.address, "api", "kernels", options.kernelId, "channels");
  return new WebSocket(`${url}?session_id=${encodeURIComponent(options.sessionId)}`, [...options.subprotocols], {
    headers: authorization(options.address),
    handshakeTimeout: options.handshakeTimeoutMs,
    maxPayload: options.maxPayloadBytes,
    // Costs more time than it saves on loopback and in a data centre.
    perMessageDeflate: false,
  });
}

/** Reads the protocol off the socket at each message: the first one can come before `open` has been handled. */
function receive(ws: WebSocket, frame: string | Uint8Array, handlers: SocketHandlers): void {
  let message: KernelMessage;
  try {
    message = wireProtocol(ws.protocol).decode(frame);
  } catch (error) {
    handlers.onMalformed(error as MalformedFrameError);
    return;
  }
  handlers.onMessage(message);
}

/** With the default `nodebuffer` type every message is one Buffer. */
function asBytes(data: RawData): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.concat(data instanceof ArrayBuffer ? [new Uint8Array(data)] : data);
}

/** Without this, the refused request keeps the process alive for ever. */
function abandon(ws: WebSocket, request: ClientRequest): void {
  ws.on("error", () => {});
  request.destroy();
  ws.terminate();
}

function endOf(code: number, reason: string, error: Error | undefined): SocketEnd {
  const tooLargeHere = (error as NodeJS.ErrnoException | undefined)?.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
  const tooLarge = tooLargeHere || code === MESSAGE_TOO_BIG;
  const words = [
    `WebSocket closed with code ${code}`,
    reason,
    error?.message ?? "",
    tooLarge ? "message too large" : "",
  ];
  return { code, tooLarge, reason: words.filter((word) => word !== "").join(": ") };
}

function refusal(options: SocketOptions, response: IncomingMessage): JupyterError {
  const status = response.statusCode ?? 0;
  const detail = response.statusMessage ?? STATUS_CODES[status] ?? "";
  return errorOfStatus(status, `kernel ${options.kernelId}`, options.address.baseUrl, detail);
}

function unreachable(options: SocketOptions, cause: Error): JupyterError {
  const message = `No Jupyter Server can be reached at ${options.address.baseUrl} (channels of kernel ${options.kernelId}: ${cause.message || cause.name}). Is it running, and is JUPYTER_URL right?`;
  return new JupyterError("unreachable", message, { cause });
}
