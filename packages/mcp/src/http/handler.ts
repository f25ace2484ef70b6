/** What answers MCP requests over HTTP, as a function of a request: in a port of ours, or in somebody's own server. */
import {
  aClock,
  aFunction,
  type Clock,
  checkOptions,
  durationFrom,
  numberFrom,
  type OptionRules,
  systemClock,
  trueOrFalse,
  wholeNumberFrom,
} from "@claimcheck/core";
import {
  type AuthInfo,
  createMcpHandler,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServerFactory,
  readRequestBody,
} from "@modelcontextprotocol/server";
import type { BearerGate } from "../auth/bearer-gate.js";
import { isStanding, untilExpiry } from "../auth/until-expiry.js";
import { checkFactory, loggedFactory } from "../factory.js";
import { HttpListening } from "../listen/http.js";
import { listenRequestOf } from "../listen/request.js";
import { principalKey } from "../owner.js";
import type { Tasks } from "../tasks.js";
import { tidied } from "../wire/malformed.js";
import { errorReporter } from "../without-payload.js";
import { tooLarge } from "./body.js";
import { errorResponse } from "./error-response.js";
import { inTime } from "./late-response.js";
import { watched } from "./response-stream.js";
import { HttpSessions } from "./sessions.js";

export interface HttpHandlerOptions {
  /** Whether 2025-era clients get sessions. Default: yes; without, each of their requests stands alone. */
  sessions?: boolean;
  /** How many sessions are open at once. Default 1000; the one idle for longest makes room. */
  maxSessions?: number;
  /** How long a session without a request or an open stream is kept, ms. Default 30 minutes. */
  sessionIdleMs?: number;
  /**
   * How long a client of a session can take up a stream that broke, and reads what it missed, ms. A call that nobody else waits
   * for is cancelled after it. Default 30 seconds; 0: no stream can be taken up, and its calls are cancelled at once.
   */
  resumeMs?: number;
  /** Largest request body, bytes. Default 4 MiB. */
  maxBodyBytes?: number;
  /** Default: the host's. */
  clock?: Clock;
  /** Told of what goes wrong beside the protocol. Never of what a message says. Default: a warning in the log of the tasks. */
  onerror?: (error: Error) => void;
}

export const HTTP_HANDLER_OPTIONS: OptionRules<HttpHandlerOptions> = {
  sessions: trueOrFalse,
  maxSessions: numberFrom(1),
  sessionIdleMs: durationFrom(1),
  resumeMs: durationFrom(0),
  maxBodyBytes: wholeNumberFrom(1),
  clock: aClock,
  onerror: aFunction,
};

/** What the server around the handler knows of a request. */
export interface HttpSender {
  /** What it has verified of the sender; without, the sender is nobody but its session. */
  authInfo?: AuthInfo;
  /** The body, where it has been read and parsed. */
  parsedBody?: unknown;
}

export interface HttpHandler {
  /** Answers one request, whose `signal` fires when its sender has gone. */
  readonly fetch: (request: Request, from?: HttpSender) => Promise<Response>;
  /** Ends open streams and waiting calls, closes every session. The tasks go on until `Tasks.close`. */
  close(): Promise<void>;
}

/**
 * Opens `tasks` and answers what {@link serveHttp} answers at its path: sessions, requests that stand alone, subscriptions.
 * Who may come in, and from where (Host, Origin), is for the server around it to check.
 *
 * @throws TypeError, RangeError for what is no option or cannot be its value
 */
export async function createHttpHandler(
  tasks: Tasks,
  factory: McpServerFactory,
  options: HttpHandlerOptions = {},
): Promise<HttpHandler> {
  checkOptions("createHttpHandler", options, HTTP_HANDLER_OPTIONS);
  checkFactory("createHttpHandler", factory);
  await tasks.open();
  const onerror = errorReporter(tasks.logger, options.onerror);
  return new HttpEndpoint(tasks, factory, { ...options, onerror }, null);
}

/** Sends each request to what serves it: a session, a new session, or the SDK's handler for requests that stand alone. */
export class HttpEndpoint implements HttpHandler {
  readonly #alone: McpHttpHandler;
  readonly #sessions: HttpSessions | null;
  readonly #listening: HttpListening;
  readonly #onerror: (error: Error) => void;
  readonly #gate: BearerGate | null;
  readonly #tasks: Tasks;
  readonly #clock: Clock;
  readonly #maxBodyBytes: number;

  constructor(tasks: Tasks, makeServer: McpServerFactory, options: HttpHandlerOptions, gate: BearerGate | null) {
    const factory = loggedFactory(makeServer, tasks.logger);
    this.#gate = gate;
    this.#tasks = tasks;
    // A refreshed token is the same caller.
    const callerKey = (authInfo: AuthInfo | undefined): string =>
      authInfo === undefined ? "" : principalKey(tasks.principalOf(authInfo));
    const onerror = options.onerror ?? (() => {});
    this.#onerror = onerror;
    const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_REQUEST_BODY_SIZE;
    this.#maxBodyBytes = maxBodyBytes;
    this.#alone = createMcpHandler(factory, { maxRequestBodySize: maxBodyBytes, onerror });
    const { maxSessions = 1000, sessionIdleMs = 30 * 60_000, resumeMs = 30_000, clock = systemClock } = options;
    this.#clock = clock;
    this.#listening = new HttpListening({ subscriptions: tasks.subscriptions, clock, onerror });
    this.#sessions =
      options.sessions === false
        ? null
        : new HttpSessions({ factory, maxSessions, sessionIdleMs, resumeMs, maxBodyBytes, callerKey, onerror, clock });
  }

  readonly fetch = async (request: Request, { authInfo, parsedBody }: HttpSender = {}): Promise<Response> => {
    const posted = request.method === "POST" ? (parsedBody ?? (await parsed(request, this.#maxBodyBytes))) : undefined;
    const body = tidied(posted);
    if (body === TOO_LARGE) {
      const { status, message } = tooLarge(this.#maxBodyBytes);
      return errorResponse(status, -32000, message);
    }
    if (body === NOT_JSON) return errorResponse(400, -32700, "Parse error: the request body is not valid JSON");
    const lacking = this.#gate?.refusalOf(body, authInfo);
    if (lacking != null) {
      return errorResponse(lacking.status, -32000, lacking.message, { "WWW-Authenticate": lacking.challenge });
    }
    const standsAlone = request.headers.get("mcp-session-id") === null;
    if (standsAlone && (await this.#tasks.takeAnswer(body, authInfo))) return new Response(null, { status: 202 });
    const response = await this.#serve(request, authInfo, body);
    const { expiresAt } = authInfo ?? {};
    if (expiresAt === undefined || !isStanding(request.method, body)) return response;
    return untilExpiry(response, expiresAt * 1000, this.#clock);
  };

  async #serve(request: Request, authInfo: AuthInfo | undefined, body: unknown): Promise<Response> {
    if (this.#sessions !== null && (await isLegacyRequest(request, body))) {
      const sessionId = request.headers.get("mcp-session-id");
      if (sessionId !== null) return this.#sessions.serve(sessionId, { request, authInfo, body });
      if (isInitializeRequest(body)) return this.#sessions.open({ request, authInfo, body });
    }
    const asked = listenRequestOf(body);
    if (asked === undefined) {
      const response = await inTime(this.#serveAlone(request, authInfo, body), this.#clock);
      return watched(response, { stalled: this.#onerror });
    }
    return this.#listening.serve(asked, authInfo, request.signal, () =>
      this.#serveAlone(request, authInfo, asked.rest),
    );
  }

  #serveAlone(request: Request, authInfo: AuthInfo | undefined, body: unknown): Promise<Response> {
    return this.#alone.fetch(request, {
      ...(authInfo !== undefined && { authInfo }),
      ...(body !== undefined && { parsedBody: body }),
    });
  }

  async close(): Promise<void> {
    this.#listening.close();
    await Promise.all([this.#sessions?.close(), this.#alone.close()]);
  }
}

const TOO_LARGE = Symbol("too large");
const NOT_JSON = Symbol("not JSON");

async function parsed(request: Request, maxBytes: number): Promise<unknown> {
  const read = await readRequestBody(request, maxBytes);
  if (read.tooLarge) return TOO_LARGE;
  try {
    return JSON.parse(read.text);
  } catch {
    return NOT_JSON;
  }
}
