/** Serving over Streamable HTTP: 2026-07-28, 2025 with sessions, and 2025 without, on one path. */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { anything, checkOptions, type OptionRules, someText, wholeNumberFrom } from "@claimcheck/core";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { type AuthInfo, DEFAULT_MAX_REQUEST_BODY_SIZE, type McpServerFactory } from "@modelcontextprotocol/server";
import type { BearerGate } from "../auth/bearer-gate.js";
import { type HttpAuth, prepareAuth } from "../auth/http-auth.js";
import type { ResourceMetadata } from "../auth/resource-server.js";
import { checkFactory } from "../factory.js";
import type { Tasks } from "../tasks.js";
import { errorReporter } from "../without-payload.js";
import { discardRest, readBody, tooLarge } from "./body.js";
import { type GuardOptions, HttpGuard, listOfHostNames } from "./guard.js";
import { HTTP_HANDLER_OPTIONS, HttpEndpoint, type HttpHandlerOptions } from "./handler.js";
import { warnOfLostTasks } from "./lost-tasks.js";

export interface ServeHttpOptions extends GuardOptions, HttpHandlerOptions {
  /** Who may come in. There is no default: serving everybody must be asked for. */
  auth: HttpAuth;
  /** Default 0: any free port. */
  port?: number;
  /** Address to listen on. Default `127.0.0.1`. */
  host?: string;
  /** Default `/mcp`. */
  path?: string;
}

const OPTIONS: OptionRules<ServeHttpOptions> = {
  // By prepareAuth.
  auth: anything,
  port: wholeNumberFrom(0, 65_535),
  host: someText,
  path: { what: "a path that begins with a slash", takes: (path) => typeof path === "string" && path.startsWith("/") },
  ...HTTP_HANDLER_OPTIONS,
  allowedHosts: listOfHostNames,
  allowedOrigins: listOfHostNames,
};

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
 * @throws TypeError, RangeError for what is no option or cannot be its value, and when `auth` does not say who may come in;
 * an Error that says why the port cannot be had, with the `code` of the host (`EADDRINUSE` and others)
 */
export async function serveHttp(
  tasks: Tasks,
  factory: McpServerFactory,
  given: ServeHttpOptions,
): Promise<HttpServing> {
  checkOptions("serveHttp", given, OPTIONS);
  checkFactory("serveHttp", factory);
  const gateAt = prepareAuth(given.auth);
  const options = { ...given, onerror: errorReporter(tasks.logger, given.onerror) };
  const host = options.host ?? "127.0.0.1";
  const hostName = isIPv6(host) ? `[${host}]` : host;
  await tasks.open();
  if (given.auth === "none") warnOfLostTasks(tasks, given.sessions ?? true);
  const server = createServer();
  await listen(server, options.port ?? 0, host);
  const { port } = server.address() as AddressInfo;
  const url = `http://${hostName}:${port}${pathOf(options)}`;
  const doors: Doors = { guard: new HttpGuard(options, hostName), gate: gateAt(url) };
  const endpoint = new HttpEndpoint(tasks, factory, options, doors.gate);
  // In the same turn as the port was opened, so that no request comes before.
  server.on("request", listener(endpoint, doors, options));
  let closing: Promise<void> | undefined;
  return {
    url,
    port,
    close: () => {
      closing ??= closeAll(server, endpoint);
      return closing;
    },
  };
}

/** What a request passes before it is served. */
interface Doors {
  guard: HttpGuard;
  /** `null`: nobody is asked who they are. */
  gate: BearerGate | null;
}

function pathOf({ path }: ServeHttpOptions): string {
  return path ?? "/mcp";
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => reject(listenError(cause, port, host));
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

function listenError(cause: NodeJS.ErrnoException, port: number, host: string): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `port ${port} of ${host} is taken: end what listens there, or give another port; 0 takes any free one`,
    EACCES: `port ${port} of ${host} needs more rights: give another port, such as one above 1023`,
    EADDRNOTAVAIL: `this machine has no address ${host}: give another host, such as 127.0.0.1`,
    ENOTFOUND: `${host} is no address of this machine: give another host, such as 127.0.0.1`,
  };
  const { code = "", message } = cause;
  const error = new Error(`serveHttp cannot listen: ${why[code] ?? message}`, { cause });
  return Object.assign(error, { code });
}

/** After its streams have ended a connection is idle and closes by itself; what is left after this long is a client that does not read, or sends half a body. */
const CLOSE_GRACE_MS = 500;

async function closeAll(server: Server, endpoint: HttpEndpoint): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  await endpoint.close();
  server.closeIdleConnections();
  const grace = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(grace);
}

function listener(
  endpoint: HttpEndpoint,
  doors: Doors,
  options: ServeHttpOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const path = pathOf(options);
  const onerror = options.onerror ?? (() => {});
  const maxRequestBodySize = options.maxBodyBytes ?? DEFAULT_MAX_REQUEST_BODY_SIZE;
  const handle = toNodeHandler(endpoint, { maxRequestBodySize, onerror });
  const serve = async (request: IncomingMessage & { auth?: AuthInfo }, response: ServerResponse): Promise<void> => {
    const asked = request.url?.split("?", 1)[0] ?? "";
    const entered = await enter(request, asked, doors, onerror);
    if ("metadata" in entered) return serveMetadata(request, response, entered.metadata);
    if ("status" in entered) return refuse(request, response, entered);
    if (asked !== path)
      return refuse(request, response, { status: 404, message: `Not found; MCP is served at ${path}` });
    if (entered.authInfo !== undefined) request.auth = entered.authInfo;
    const body = request.method === "POST" ? await readBody(request, maxRequestBodySize) : undefined;
    if (body === null) return refuse(request, response, tooLarge(maxRequestBodySize));
    flushStreamHeaders(response);
    await handle(body === undefined ? (request as NodeIncomingMessageLike) : withBody(request, body), response);
  };
  return (request, response) => {
    // Writing to a client that has gone is no news.
    response.on("error", () => {});
    serve(request, response).catch((error: unknown) => {
      onerror(error as Error);
      if (!response.headersSent) refuse(request, response, { status: 500, message: "Internal server error" });
      else response.destroy();
    });
  };
}

interface Refused {
  status: number;
  message: string;
  challenge?: string;
}

const CANNOT_VERIFY: Refused = { status: 503, message: "Tokens cannot be verified now; try again later." };

/** Who asks, as far as that is asked, or what is answered instead of serving the request. */
async function enter(
  request: IncomingMessage,
  path: string,
  { guard, gate }: Doors,
  onerror: (error: Error) => void,
): Promise<{ authInfo?: AuthInfo } | { metadata: ResourceMetadata } | Refused> {
  const foreign = guard.refusalOf(request);
  if (foreign !== undefined) return { status: 403, message: foreign };
  const metadata = gate?.metadataAt(path);
  if (metadata != null) return { metadata };
  try {
    return (await gate?.authenticate(request.headers.authorization)) ?? {};
  } catch (error) {
    onerror(error as Error);
    return CANNOT_VERIFY;
  }
}

function serveMetadata(request: IncomingMessage, response: ServerResponse, metadata: ResourceMetadata): void {
  if (request.method === "GET" || request.method === "HEAD") {
    response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "max-age=3600" });
    response.end(JSON.stringify(metadata));
  } else refuse(request, response, { status: 405, message: "Only GET is answered here." });
}

/** Node keeps the headers back until there is a body; a client that opens a quiet stream would not know that it is open. */
function flushStreamHeaders(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers?: OutgoingHttpHeaders,
  ) => ServerResponse;
  response.writeHead = ((status: number, headers?: OutgoingHttpHeaders) => {
    writeHead(status, headers);
    if (String(headers?.["content-type"]).startsWith("text/event-stream")) response.flushHeaders();
    return response;
  }) as typeof response.writeHead;
}

/** The request as the SDK takes it, once its body is there. */
function withBody(request: IncomingMessage & { auth?: AuthInfo }, body: Buffer): NodeIncomingMessageLike {
  const { method = "POST", url = "/", headers, auth } = request;
  const read = async function* (): AsyncGenerator<Buffer> {
    yield body;
  };
  return { method, url, headers, ...(auth !== undefined && { auth }), [Symbol.asyncIterator]: read };
}

/** The connection ends with it, unless the request is there already as a whole: the body of a refused request is not read. */
function refuse(request: IncomingMessage, response: ServerResponse, { status, message, challenge }: Refused): void {
  discardRest(request);
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  if (challenge !== undefined) headers["WWW-Authenticate"] = challenge;
  response.writeHead(status, headers);
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}
