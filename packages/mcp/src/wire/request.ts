/** What a request shows of its sender, its generation of the protocol, and what it declared. */
import type { JsonObject, JsonValue } from "@claimcheck/core";
import type { AuthInfo, McpServer, MessageExtraInfo, RequestId, ServerContext } from "@modelcontextprotocol/server";
import type { Era } from "../dialects/dialect.js";
import type { Identity } from "../owner.js";

/** Longest id that is looked up; ours have 26 characters. */
export const MAX_TASK_ID_LENGTH = 200;

const PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";

/** What the SDK takes out of a request's `_meta` and checks (2026-07-28). */
const ENVELOPE_META: readonly string[] = [
  PROTOCOL_VERSION_META,
  CLIENT_CAPABILITIES_META,
  "io.modelcontextprotocol/clientInfo",
  "io.modelcontextprotocol/logLevel",
];

/** Whether `name`, of a member of `_meta`, belongs to the envelope. */
export function isOfEnvelope(name: string): boolean {
  return ENVELOPE_META.includes(name);
}

/** The envelope in a request's `_meta`, or as the SDK took it out, as a text that is the same for the same one. */
export function envelopeText(meta: JsonObject): string {
  return JSON.stringify(ENVELOPE_META.map((name) => (name in meta ? [meta[name] ?? null] : [])));
}

/** The first revision in which tasks exist. */
const FIRST_WITH_TASKS = "2025-11-25";

/** The generation of a request, and the extensions it (2026) or its connection (2025) declared. */
export interface Declaration {
  era: Era;
  extensions: ReadonlySet<string>;
  /** What the client said about being asked; `undefined` when it said nothing to this process. */
  askable: JsonObject | undefined;
}

/** Where a request comes from, as the transport tells it. */
export interface Sender {
  id: RequestId;
  authInfo: AuthInfo | undefined;
  /** Of a transport that has sessions. */
  sessionId: string | undefined;
  /** Of a request that came over HTTP. */
  httpRequest: Request | undefined;
}

/** The sender as the SDK hands it to a handler. */
export function senderOf({ http, sessionId, mcpReq }: ServerContext): Sender {
  return { id: mcpReq.id, authInfo: http?.authInfo, sessionId, httpRequest: http?.req };
}

/** The sender as a transport tells of it. */
export function messageSender(
  id: RequestId,
  extra: MessageExtraInfo | undefined,
  sessionId: string | undefined,
): Sender {
  return { id, authInfo: extra?.authInfo, sessionId, httpRequest: extra?.request };
}

/** What a request of the 2026 era says of itself, which the SDK takes out of its params. */
export function envelopeOf(mcpReq: ServerContext["mcpReq"]): JsonObject | undefined {
  return asObject((mcpReq as { envelope?: unknown }).envelope);
}

/** The answers that a request of the 2026 era brings, by key. */
export function inputResponsesOf(mcpReq: ServerContext["mcpReq"]): JsonObject {
  return asObject((mcpReq as { inputResponses?: unknown }).inputResponses) ?? {};
}

const NOTHING: ReadonlySet<string> = new Set();

/** Whether a request carries the envelope of the 2026 era; `meta` is its `params._meta`, or what the SDK took out of it. */
export function isOf2026(meta: JsonObject | undefined): meta is JsonObject {
  return meta?.[PROTOCOL_VERSION_META] !== undefined;
}

/** What a request of the 2026 era declares. */
export function declarationOf2026(meta: JsonObject): Declaration {
  const capabilities = asObject(meta[CLIENT_CAPABILITIES_META]) ?? {};
  return { era: "2026", extensions: extensionsOf(capabilities), askable: askable(capabilities) };
}

/** What a connection of the 2025 era declared. */
export function declarationOf2025(capabilities: JsonObject | undefined): Declaration {
  return { era: "2025", extensions: extensionsOf(capabilities), askable: askable(capabilities) };
}

/** The capabilities that decide which questions a client can be asked; what a task keeps of them. */
function askable(capabilities: JsonObject | undefined): JsonObject | undefined {
  if (capabilities === undefined) return undefined;
  const kept: JsonObject = {};
  for (const name of ["elicitation", "sampling", "roots"]) {
    const value = asObject(capabilities[name]);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function extensionsOf(capabilities: JsonValue | undefined): ReadonlySet<string> {
  const extensions = asObject(asObject(capabilities)?.extensions);
  return extensions === undefined ? NOTHING : new Set(Object.keys(extensions));
}

/** Whether the client has settled on a revision of the 2025 era with `initialize`: an envelope in its requests says nothing then. */
export function hasInitialized(server: McpServer["server"]): boolean {
  const version = server.getNegotiatedProtocolVersion();
  return version !== undefined && version < "2026";
}

/** Whether the connection's protocol revision has tasks. One that cannot be told is taken at its word. */
export function revisionHasTasks(server: McpServer["server"], extra: MessageExtraInfo | undefined): boolean {
  const version = server.getNegotiatedProtocolVersion() ?? headerOf(extra, "mcp-protocol-version");
  return version === undefined || version >= FIRST_WITH_TASKS;
}

function headerOf(extra: MessageExtraInfo | undefined, name: string): string | undefined {
  return extra?.request?.headers.get(name) ?? undefined;
}

/** Beside a token that is kept: when it expires, epoch milliseconds. */
const TOKEN_EXPIRES_AT = "tokenExpiresAt";

/** What of a request its tool may still read when the request is long gone. No secret gets in that the server did not ask for. */
export function keptRequest(
  { owner, principal }: Identity,
  { sessionId, httpRequest, authInfo }: Sender,
  server: McpServer["server"],
  keepHeaders: readonly string[],
): JsonObject {
  const kept: JsonObject = { owner };
  if (principal !== undefined) kept.principal = { ...principal };
  if (sessionId !== undefined) kept.sessionId = sessionId;
  const client = server.getClientVersion();
  if (client !== undefined) kept.clientInfo = withoutIcons(client as unknown as JsonObject);
  if (httpRequest !== undefined && keepHeaders.length > 0) {
    kept.headers = keptHeaders(httpRequest.headers, keepHeaders);
    const expiresAtS = authInfo?.expiresAt;
    if ("authorization" in kept.headers && expiresAtS !== undefined) kept[TOKEN_EXPIRES_AT] = expiresAtS * 1000;
  }
  return kept;
}

/** Icons may be pictures in `data:` URLs, for people who look at clients; a record is no place for them. */
function withoutIcons({ icons: _icons, ...client }: JsonObject): JsonObject {
  return client;
}

/** What a tool may read of it now: a task may wait for its turn for longer than the token that it came with is valid. */
export function readableRequest(kept: JsonObject): JsonObject {
  const { [TOKEN_EXPIRES_AT]: expiresAt, ...request } = kept;
  if (expiresAt === undefined) return kept;
  if (Date.now() < Number(expiresAt)) return request;
  const { authorization: _expired, ...headers } = asObject(request.headers) ?? {};
  return { ...request, headers };
}

function keptHeaders(headers: Headers, names: readonly string[]): JsonObject {
  const present = names.map((name) => [name.toLowerCase(), headers.get(name)] as const);
  return Object.fromEntries(present.filter(([, value]) => value !== null));
}

/** `value` as a JSON object; `undefined` when it is none. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}
