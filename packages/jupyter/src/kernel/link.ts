/** Keeps one WebSocket to a kernel open: reconnects with back-off, a bounded number of times, under the same session. */
import type { Clock, Timer } from "@claimcheck/core";
import { JupyterError } from "./errors.js";
import { type KernelSocket, openSocket, type SocketEnd, type SocketHandlers, type SocketOptions } from "./socket.js";
import type { KernelMessage } from "./wire.js";

/** When to give up. */
export interface ReconnectOptions {
  /** Tries before the connection counts as lost. Default: 10. */
  tries?: number;
  /** Before the first try; doubles with each. Default: 100 ms. */
  firstDelayMs?: number;
  /** Default: 5 s. */
  maxDelayMs?: number;
}

/** Who listens to a {@link Link}. */
export interface LinkHandlers extends Pick<SocketHandlers, "onMessage" | "onMalformed"> {
  /** The socket is gone, and another is being opened. */
  onDown(end: SocketEnd): void;
  /** The new socket is open. */
  onUp(): void;
  /** There will be no other. */
  onGivenUp(error: JupyterError): void;
}

/** A new handshake waits for the kernel at most this long; the first one may wait for a kernel that starts. */
const RECONNECT_HANDSHAKE_MS = 20_000;
/**
 * A connection that holds this long counts as good, and the next loss starts with fresh tries. Without it, two clients
 * with one session id would replace each other's connection for ever.
 */
const STABLE_MS = 10_000;

/** The socket of one connection, whichever it is at the moment. */
export class Link {
  readonly #socketOptions: SocketOptions;
  readonly #reconnect: Required<ReconnectOptions>;
  readonly #handlers: LinkHandlers;
  readonly #clock: Clock;
  #socket: KernelSocket | undefined;
  #timer: Timer | undefined;
  #tries = 0;
  #openedAt = 0;
  #closed = false;

  constructor(socketOptions: SocketOptions, reconnect: ReconnectOptions, handlers: LinkHandlers) {
    this.#socketOptions = socketOptions;
    this.#reconnect = { tries: 10, firstDelayMs: 100, maxDelayMs: 5_000, ...reconnect };
    this.#handlers = handlers;
    this.#clock = socketOptions.clock;
  }

  get isUp(): boolean {
    return this.#socket !== undefined;
  }

  /**
   * Opens the first socket, without trying again.
   * @throws JupyterError
   */
  async open(): Promise<void> {
    await this.#connect(this.#socketOptions.handshakeTimeoutMs);
  }

  /** Only while the link is up. */
  send(message: KernelMessage): void {
    this.#socket?.send(message);
  }

  /** Ends a socket from which nothing came for `silenceMs`, not even an answer to a ping; else pings. */
  beat(silenceMs: number): void {
    if (this.#socket === undefined) return;
    if (this.#clock.now() - this.#socket.receivedAt > silenceMs) this.#socket.terminate();
    else this.#socket.ping();
  }

  /** Drops the socket as a broken network would; the link then reconnects. */
  drop(): void {
    this.#socket?.terminate();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    await this.#socket?.close();
  }

  async #connect(handshakeTimeoutMs: number): Promise<void> {
    const socket = await openSocket(
      { ...this.#socketOptions, handshakeTimeoutMs },
      {
        onMessage: (message) => this.#handlers.onMessage(message),
        onMalformed: (error) => this.#handlers.onMalformed(error),
        onClosed: (end) => this.#onClosed(end),
      },
    );
    if (this.#closed) {
      await socket.close();
      return;
    }
    this.#socket = socket;
    this.#openedAt = this.#clock.now();
  }

  #onClosed(end: SocketEnd): void {
    if (this.#closed) return;
    this.#socket = undefined;
    if (this.#clock.now() - this.#openedAt > STABLE_MS) this.#tries = 0;
    this.#handlers.onDown(end);
    this.#scheduleTry(new JupyterError("unreachable", `The connection to the kernel was lost: ${end.reason}.`));
  }

  #scheduleTry(lastError: JupyterError): void {
    const { tries, firstDelayMs, maxDelayMs } = this.#reconnect;
    if (this.#tries >= tries) {
      this.#handlers.onGivenUp(lastError);
      return;
    }
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#tries);
    this.#tries++;
    this.#timer = this.#clock.setTimer(() => void this.#try(), delayMs);
  }

  async #try(): Promise<void> {
    try {
      await this.#connect(RECONNECT_HANDSHAKE_MS);
    } catch (error) {
      this.#onTryFailed(error as JupyterError);
      return;
    }
    if (!this.#closed) this.#handlers.onUp();
  }

  #onTryFailed(error: JupyterError): void {
    if (this.#closed) return;
    const isFinal = error.code === "not_found" || error.code === "unauthorized";
    if (isFinal) this.#handlers.onGivenUp(error);
    else this.#scheduleTry(error);
  }
}
