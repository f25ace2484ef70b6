/** The 2025-era sessions of one HTTP server: bounded in number, ended when idle, each bound to whoever opened it. */
import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "@claimcheck/core";
import {
  type AuthInfo,
  type McpServerFactory,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

import { watched } from "./response-stream.js";

export interface SessionsOptions {
  factory: McpServerFactory;
  maxSessions: number;
  sessionIdleMs: number;
  maxBodyBytes: number;
  /** Tells two callers apart; a session answers only the one that opened it. */
  callerKey: (authInfo: AuthInfo | undefined) => string;
  onerror: (error: Error) => void;
  clock: Clock;
}

/** One request on its way to a session. */
export interface SessionRequest {
  request: Request;
  authInfo: AuthInfo | undefined;
  /** The parsed body of a POST. */
  body: unknown;
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  callerKey: string;
  /** Requests and streams that are open. */
  open: number;
  lastUsedAt: number;
  close: () => Promise<void>;
}

const JSON_HEADERS = { "Content-Type": "application/json" };

export class HttpSessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  #sweeper: Timer;
  /** Sessions on their way: they take room already. */
  #opening = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#sweeper = this.#sweepLater();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Serves a request that names a session. One that is gone, or somebody else's, is not found: the id is no credential. */
  async serve(sessionId: string, { request, authInfo, body }: SessionRequest): Promise<Response> {
    const session = this.#sessions.get(sessionId);
    if (session === undefined || session.callerKey !== this.#options.callerKey(authInfo)) {
      return errorResponse(404, -32001, "Session not found");
    }
    const release = this.#hold(session);
    cancelWithCaller(session.transport, request, body);
    return this.#exchange(session.transport, { request, authInfo, body }, release);
  }

  /** Opens a session with the `initialize` request. */
  async open(asked: SessionRequest): Promise<Response> {
    if (!this.#makeRoom()) return errorResponse(503, -32000, "Too many sessions are open; try again later.");
    this.#opening += 1;
    try {
      return await this.#open(asked);
    } finally {
      this.#opening -= 1;
    }
  }

  async #open(asked: SessionRequest): Promise<Response> {
    const { request, authInfo } = asked;
    const { factory, maxBodyBytes } = this.#options;
    const server = await factory({ era: "legacy", requestInfo: request, ...(authInfo !== undefined && { authInfo }) });
    let release = (): void => {};
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: maxBodyBytes,
      onsessioninitialized: (id) => {
        release = this.#add(id, transport, authInfo, () => server.close());
      },
    });
    try {
      await server.connect(transport);
      this.#forgetOnClose(transport);
      return await this.#exchange(transport, asked, () => release());
    } finally {
      // Whatever went wrong: nobody else knows of the server.
      if (transport.sessionId === undefined || !this.#sessions.has(transport.sessionId)) await server.close();
    }
  }

  /** @returns what releases the request that opened it */
  #add(
    id: string,
    transport: WebStandardStreamableHTTPServerTransport,
    authInfo: AuthInfo | undefined,
    close: () => Promise<void>,
  ): () => void {
    const callerKey = this.#options.callerKey(authInfo);
    const session = { transport, callerKey, open: 0, lastUsedAt: this.#clock.now(), close };
    this.#sessions.set(id, session);
    return this.#hold(session);
  }

  async close(): Promise<void> {
    this.#clock.clearTimer(this.#sweeper);
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
    this.#sessions.clear();
  }

  async #exchange(
    transport: WebStandardStreamableHTTPServerTransport,
    { request, authInfo, body }: SessionRequest,
    release: () => void,
  ): Promise<Response> {
    try {
      const response = await transport.handleRequest(request, {
        ...(authInfo !== undefined && { authInfo }),
        ...(body !== undefined && { parsedBody: body }),
      });
      return watched(response, { done: release, stalled: this.#options.onerror });
    } catch (error) {
      release();
      throw error;
    }
  }

  #hold(session: Session): () => void {
    session.open += 1;
    session.lastUsedAt = this.#clock.now();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      session.open -= 1;
      session.lastUsedAt = this.#clock.now();
    };
  }

  #forgetOnClose(transport: WebStandardStreamableHTTPServerTransport): void {
    const { onclose } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      onclose?.();
    };
  }

  /**
   * Ends an idle session when there are too many; `false` when all are in use. Whoever has most of them makes room, with the
   * one idle for longest: nobody can drive the others out by opening many.
   */
  #makeRoom(): boolean {
    const { maxSessions, onerror } = this.#options;
    if (this.#sessions.size + this.#opening < maxSessions) return true;
    const held = new Map<string, number>();
    for (const { callerKey } of this.#sessions.values()) held.set(callerKey, (held.get(callerKey) ?? 0) + 1);
    const heldBy = ({ callerKey }: Session): number => held.get(callerKey) ?? 0;
    const idle = [...this.#sessions.values()].filter(({ open }) => open === 0);
    const [given] = idle.sort((a, b) => heldBy(b) - heldBy(a) || a.lastUsedAt - b.lastUsedAt);
    if (given === undefined) return false;
    const idleMs = this.#clock.now() - given.lastUsedAt;
    onerror(new Error(`Ended a session that was idle for ${idleMs} ms to make room: ${maxSessions} may be open.`));
    this.#end(given);
    return true;
  }

  /** One timer for all sessions; half the idle time late is early enough. */
  #sweepLater(): Timer {
    const delayMs = Math.min(this.#options.sessionIdleMs / 2, 60_000);
    return this.#clock.setTimer(() => {
      this.#sweep();
      this.#sweeper = this.#sweepLater();
    }, delayMs);
  }

  #sweep(): void {
    const idleSinceAt = this.#clock.now() - this.#options.sessionIdleMs;
    for (const session of this.#sessions.values()) {
      if (session.open === 0 && session.lastUsedAt <= idleSinceAt) this.#end(session);
    }
  }

  #end(session: Session): void {
    if (session.transport.sessionId !== undefined) this.#sessions.delete(session.transport.sessionId);
    session.close().catch((error: unknown) => this.#options.onerror(error as Error));
  }
}

/** A JSON-RPC error that belongs to no request. */
export function errorResponse(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  return new Response(body, { status, headers: { ...JSON_HEADERS, ...headers } });
}

/**
 * The SDK's session keeps a call running when its caller hangs up, as if the stream could be taken up again. It cannot
 * here, so the call is told; one that creates a task has nothing to be told.
 */
function cancelWithCaller(transport: WebStandardStreamableHTTPServerTransport, request: Request, body: unknown): void {
  const ids = (Array.isArray(body) ? body : [body]).map(requestId).filter((id) => id !== undefined);
  if (ids.length === 0) return;
  const cancel = (): void => {
    for (const requestId of ids) {
      transport.onmessage?.({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId, reason: "The caller hung up." },
      });
    }
  };
  request.signal.addEventListener("abort", cancel, { once: true });
}

function requestId(message: unknown): RequestId | undefined {
  if (typeof message !== "object" || message === null || !("method" in message) || !("id" in message)) return undefined;
  return message.id as RequestId;
}
