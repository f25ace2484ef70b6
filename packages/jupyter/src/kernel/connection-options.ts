/** Whom a connection is to, how patient it is, and what it tells. */
import type { Clock, Logger } from "@claimcheck/core";
import type { JupyterError } from "./errors.js";
import type { KernelChange } from "./kernel-watcher.js";
import type { ReconnectOptions } from "./link.js";
import type { JupyterRest } from "./rest.js";
import type { KernelMessage } from "./wire.js";

/** Whom to connect to, and how patiently. */
export interface ConnectionOptions {
  rest: JupyterRest;
  kernelId: string;
  /**
   * Fixed for a client of a kernel: under the same one, a later connection gets the replies to what an earlier one
   * asked. Two open connections must not share one: the server closes the older. Default: a random one.
   */
  sessionId?: string;
  /** The sender's name in each header. Default: `claimcheck`. */
  username?: string;
  /** Offers no subprotocol, so that the server speaks the older JSON protocol. Default: false. */
  legacyProtocol?: boolean;
  reconnect?: ReconnectOptions;
  /** How often the link is checked. Default: 5 s. A link that is silent for three times this long is dead. */
  heartbeatMs?: number;
  /** How long output that comes after a request's end is still handed to its listener. Default: 5 minutes. */
  lateOutputMs?: number;
  /** The first handshake waits for a kernel that is starting. Default: 75 s, a little more than the server waits. */
  handshakeTimeoutMs?: number;
  /** A larger message is lost, and with it the socket. Default: 512 MiB. */
  maxPayloadBytes?: number;
  clock?: Clock;
  logger?: Logger;
}

/** What happens to a connection, beside the messages of its own requests. */
export type ConnectionEvent =
  /** The socket is gone; another is being opened. */
  | { type: "reconnecting"; reason: string }
  | { type: "reconnected" }
  /** The kernel's process ended or was replaced. */
  | { type: "kernel"; change: KernelChange }
  /** Every message, also those of other clients. */
  | { type: "message"; message: KernelMessage }
  /** For good: by us, or with the error because nothing is left to connect to. */
  | { type: "closed"; error: JupyterError | undefined };

/** Where a connection stands. */
export type ConnectionState = "open" | "reconnecting" | "closed";
