/** Serving over Streamable HTTP: 2026-07-28, 2025 with sessions, and 2025 without. */
import type { AuthInfo, McpServerFactory } from "@modelcontextprotocol/server";
import type { Tasks } from "./tasks.js";

export interface ServeHttpOptions {
  /** Default 0: any free port. */
  port?: number;
  /** Address to listen on. Default `127.0.0.1`. */
  host?: string;
  /** Default `/mcp`. */
  path?: string;
  /** The bearer token that every request must carry; compared in constant time. */
  token?: string;
  /** Verifies a bearer token otherwise; `null` refuses it. What it answers is the caller's identity. */
  verifyToken?: (token: string) => Promise<AuthInfo | null>;
  /** Serve whoever can reach the port. Must be asked for: without it, `token` or `verifyToken` is needed. */
  noAuth?: boolean;
  /** Host names, without port, that a request's `Host` may carry. Default: loopback's. */
  allowedHosts?: readonly string[];
  /** Host names that a request's `Origin` may carry; a request without `Origin` passes. Default: loopback's. */
  allowedOrigins?: readonly string[];
  /** Largest request body, bytes. Default 4 MiB. */
  maxBodyBytes?: number;
  /** How many 2025 sessions are open at once. Default 1000; the one idle for longest makes room. */
  maxSessions?: number;
  /** How long a session without a request or an open stream is kept. Default 30 minutes. */
  sessionIdleMs?: number;
  onerror?: (error: Error) => void;
}

export interface HttpServing {
  /** Where clients connect, such as `http://127.0.0.1:41234/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening, ends open streams and waiting calls, closes every session. The tasks go on until `Tasks.close`. */
  close(): Promise<void>;
}

/**
 * Opens `tasks` and serves a new server from `factory` to every session, and to every request outside one.
 *
 * @throws when neither `token`, `verifyToken` nor `noAuth` is given, or the port cannot be had
 */
export declare function serveHttp(
  tasks: Tasks,
  factory: McpServerFactory,
  options: ServeHttpOptions,
): Promise<HttpServing>;
