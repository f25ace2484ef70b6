/** The 2025-era sessions of one HTTP server: bounded in number, ended when idle, each bound to whoever opened it. */
import { randomUUID } from "node:crypto";
import { type Clock, Deadlines, type Timer } from "@claimcheck/core";
import {
  type AuthInfo,
  type McpServerFactory,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { ResumableStreams } from "../resumption/resumable-streams.js";
import { errorResponse } from "./error-response.js";
import { watched } from "./response-stream.js";

export interface SessionsOptions {
  factory: McpServerFactory;
  maxSessions: number;
  sessionIdleMs: number;
  /** How long a stream that broke can be taken up again, and its calls go on, ms. */
  resumeMs: number;
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
  streams: ResumableStreams;
  callerKey: string;
  /** Requests and streams that are open. */
  open: number;
  lastUsedAt: number;
  close: () => Promise<void>;
}

export class HttpSessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  #sweeper: Timer;
  /** Sessions on their way: they take room already. */
  #opening = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#deadlines = new Deadlines(options.clock);
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
    return this.#watch(this.#hold(session), () => answer(session, { request, authInfo, body }));
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
      return await this.#watch(
        () => release(),
        () => handle(transport, asked),
      );
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
    const streams = this.#streamsOf(transport);
    const session = { transport, streams, callerKey, open: 0, lastUsedAt: this.#clock.now(), close };
    this.#sessions.set(id, session);
    return this.#hold(session);
  }

  #streamsOf(transport: WebStandardStreamableHTTPServerTransport): ResumableStreams {
    const { resumeMs } = this.#options;
    const onGivenUp = (ids: readonly RequestId[]): void => cancel(transport, ids);
    return new ResumableStreams({ resumeMs, deadlines: this.#deadlines, onGivenUp });
  }

  async close(): Promise<void> {
    this.#clock.clearTimer(this.#sweeper);
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
    this.#sessions.clear();
  }

  async #watch(release: () => void, exchange: () => Promise<Response>): Promise<Response> {
    try {
      return watched(await exchange(), { done: release, stalled: this.#options.onerror });
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
      const { sessionId = "" } = transport;
      this.#sessions.get(sessionId)?.streams.close();
      this.#sessions.delete(sessionId);
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
    session.streams.close();
    if (session.transport.sessionId !== undefined) this.#sessions.delete(session.transport.sessionId);
    session.close().catch((error: unknown) => this.#options.onerror(error as Error));
  }
}

function handle(
  transport: WebStandardStreamableHTTPServerTransport,
  { request, authInfo, body }: SessionRequest,
): Promise<Response> {
  return transport.handleRequest(request, {
    ...(authInfo !== undefined && { authInfo }),
    ...(body !== undefined && { parsedBody: body }),
  });
}

/** What the SDK answers, or what has been written on one of its streams while nobody read it. */
async function answer({ transport, streams }: Session, asked: SessionRequest): Promise<Response> {
  const { request, body } = asked;
  if (request.method === "GET") {
    const unreadable = refusalOfReader(request);
    if (unreadable !== undefined) return unreadable;
    const lastEventId = request.headers.get("last-event-id") ?? "";
    if (lastEventId !== "" && streams.canResume) return streams.resume(lastEventId, request);
    streams.makeWay();
  }
  return streams.carry(await handle(transport, asked), request, requestIds(body));
}

/** What the SDK would refuse to open a stream for. A stream that is taken up again is not opened by the SDK. */
function refusalOfReader({ headers }: Request): Response | undefined {
  if (headers.get("accept")?.includes("text/event-stream") !== true) {
    return errorResponse(406, -32000, "Not Acceptable: Client must accept text/event-stream");
  }
  const version = headers.get("mcp-protocol-version");
  if (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined;
  return errorResponse(400, -32000, `Bad Request: Unsupported protocol version: ${version}`);
}

/** The SDK's session would let the calls run on for nobody. One that creates a task has nothing to be told. */
function cancel(transport: WebStandardStreamableHTTPServerTransport, ids: readonly RequestId[]): void {
  for (const requestId of ids) {
    const params = { requestId, reason: "The caller hung up." };
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
}

function requestIds(body: unknown): RequestId[] {
  return (Array.isArray(body) ? body : [body]).map(requestId).filter((id) => id !== undefined);
}

function requestId(message: unknown): RequestId | undefined {
  if (typeof message !== "object" || message === null || !("method" in message) || !("id" in message)) return undefined;
  return message.id as RequestId;
}
