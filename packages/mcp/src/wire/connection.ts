/**
 * What one connection of one server knows of its tasks calls: which request asked for what, what goes out in place
 * of the SDK's answer, and where side messages travel. It dies with its transport; tasks do not.
 */
import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue, LogLevel, StopSignal } from "@claimcheck/core";
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import type { Answer, Dialect, Era } from "../dialects/dialect.js";
import type { Identity } from "../owner.js";
import { wireError } from "./error-map.js";
import { envelopeText } from "./request.js";

/** A `tools/call` that becomes a task, from when it came in until it is answered. */
export interface TaskIntent {
  dialect: Dialect;
  era: Era;
  /** The arguments as the caller sent them: the fingerprint of the call is theirs. */
  arguments: JsonObject;
  ttl: number | null | undefined;
  /** Absent when there was none; whatever was sent otherwise. */
  idempotencyKey?: unknown;
  progressToken?: string | number;
  /** From which level on a caller of the 2026 era hears what is logged until it is answered; absent when it hears nothing. */
  logLevel?: LogLevel;
  /** What the client said about being asked; absent when it said nothing to this process. */
  askable?: JsonObject | undefined;
  /** What the caller answered before there was a task. */
  answers?: JsonObject;
}

/** How many notifications wait for a client that does not read its pipe; what comes beyond is not told. */
const MAX_UNSENT = 1000;

export class Connection {
  /** Stands in for a session id where the transport has no sessions. */
  readonly id: string = randomUUID();
  readonly #send: Transport["send"];
  readonly #transport: Transport;
  readonly #intents = new Map<RequestId, TaskIntent>();
  readonly #answers = new Map<RequestId, Answer>();
  readonly #answered = new Map<RequestId, () => void>();
  /** What came as `requestState` of calls that ask in rounds; the SDK would check it as a tool author's own. */
  readonly #states = new Map<RequestId, string>();
  /** What calls that may outlast their request were called with. */
  readonly #arguments = new Map<RequestId, JsonObject>();
  /** The `tasks/result` requests that wait, by task: side messages of the task travel on the newest one's stream. */
  readonly #waits = new Map<string, Set<RequestId>>();
  /** The requests that are answered without the SDK and may be cancelled. */
  readonly #hangups = new Map<RequestId, Hangup>();
  /** The 2026-era envelope that the SDK let through last, as text. */
  #envelope: string | undefined;
  /** What the SDK has the server call itself in the results of a 2026-era connection, once it has sent one. */
  #serverInfo: JsonValue | undefined;
  #closed = false;
  /** Notifications that the transport has not written yet. */
  #unsent = 0;
  /** From which level on a client of the 2025 era hears what is logged (`logging/setLevel`); everything until it has said. */
  logLevel: LogLevel = "debug";
  /** What a sender without authentication is here; worked out once. */
  identity: Identity | null | undefined;

  /** @param send the transport's own, undecorated */
  constructor(transport: Transport, send: Transport["send"]) {
    this.#transport = transport;
    this.#send = send;
  }

  /** The session of a transport that has sessions, once there is one. */
  get sessionId(): string | undefined {
    return this.#transport.sessionId;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Nothing more goes out. The intents stay: a call on its way through the SDK must still become the task that was asked for. */
  close(): void {
    this.#closed = true;
    for (const hangup of this.#hangups.values()) hangup.stop(new Error("The connection has closed."));
  }

  /** Fires when the request is cancelled, or the connection closes; for requests that the SDK does not know of. */
  hangupOf(id: RequestId): StopSignal {
    const hangup = new Hangup();
    this.#hangups.set(id, hangup);
    if (this.#closed) hangup.stop(new Error("The connection has closed."));
    return hangup;
  }

  /** Cancels the request if it has asked for {@link hangupOf}; answers whether it had. */
  hangUp(id: RequestId): boolean {
    this.#hangups.get(id)?.stop(new Error("The request was cancelled."));
    return this.#hangups.delete(id);
  }

  /** The SDK has checked an envelope, which `meta` holds, and let its request through. */
  admitted(meta: JsonObject): void {
    this.#envelope = envelopeText(meta);
  }

  /** Whether the SDK would let the envelope in `meta` through, and what it adds to an answer is known: a client repeats one envelope word for word. */
  isAdmitted(meta: JsonObject): boolean {
    return this.#serverInfo !== undefined && this.#envelope === envelopeText(meta);
  }

  keepState(id: RequestId, state: string): void {
    this.#states.set(id, state);
  }

  stateOf(id: RequestId): string | undefined {
    return this.#states.get(id);
  }

  keepArguments(id: RequestId, args: JsonObject): void {
    this.#arguments.set(id, args);
  }

  takeArguments(id: RequestId): JsonObject {
    const args = this.#arguments.get(id) ?? {};
    this.#arguments.delete(id);
    return args;
  }

  expect(id: RequestId, intent: TaskIntent): void {
    this.#intents.set(id, intent);
  }

  intentOf(id: RequestId): TaskIntent | undefined {
    return this.#intents.get(id);
  }

  /** Says what goes out for the request in place of what the SDK will send; `then` runs once it is out. */
  answer(id: RequestId, answer: Answer, then?: () => void): void {
    this.#answers.set(id, answer);
    if (then !== undefined) this.#answered.set(id, then);
  }

  /** Answers a request that the SDK never sees. Not being able to is no news: the client is gone. */
  reply(id: RequestId, answer: Answer): void {
    this.#hangups.delete(id);
    this.#intents.delete(id);
    this.#send(response(id, answer, this.#serverInfo)).catch(ignore);
  }

  /** What to send in place of the SDK's response; a response that is none of ours comes back as it is. */
  replace(original: Response): JSONRPCMessage {
    const { id } = original;
    this.#serverInfo ??= serverInfoOf(original.result);
    if (id !== undefined && this.#states.size > 0) this.#states.delete(id);
    if (id !== undefined && this.#arguments.size > 0) this.#arguments.delete(id);
    if (id === undefined || (this.#answers.size === 0 && this.#intents.size === 0)) return original as JSONRPCMessage;
    const intent = this.#intents.get(id);
    const answer = this.#answers.get(id);
    this.#intents.delete(id);
    this.#answers.delete(id);
    const serverInfo = serverInfoOf(original.result);
    if (answer !== undefined) return response(id, answer, serverInfo);
    const refused = intent === undefined ? undefined : invalidArguments(intent, original.result);
    return refused === undefined ? (original as JSONRPCMessage) : response(id, refused, serverInfo);
  }

  /** The response to `id` is out. */
  sent(id: RequestId | undefined): void {
    if (id === undefined) return;
    const then = this.#answered.get(id);
    this.#answered.delete(id);
    then?.();
  }

  /** Notes that the request waits for the task. @returns a function that ends it */
  waits(taskId: string, id: RequestId): () => void {
    const waiting = this.#waits.get(taskId) ?? new Set();
    this.#waits.set(taskId, waiting.add(id));
    return () => {
      waiting.delete(id);
      if (waiting.size === 0) this.#waits.delete(taskId);
    };
  }

  #newestWait(taskId: string): { relatedRequestId: RequestId } | undefined {
    const waiting = this.#waits.get(taskId);
    const relatedRequestId = waiting === undefined ? undefined : [...waiting].at(-1);
    return relatedRequestId === undefined ? undefined : { relatedRequestId };
  }

  /**
   * Sends a notification about the task: on the stream of a request that waits for it, else on the session's own.
   * Losing one costs latency and nothing else, so nobody hears of a stream that is gone, and nothing piles up for a
   * client that does not read. Answers whether it was sent.
   */
  notify(taskId: string, method: string, params: JsonObject): boolean {
    return this.#notify(method, params, this.#newestWait(taskId));
  }

  /** The same on the stream of the request `id`, before it is answered. */
  notifySender(id: RequestId, method: string, params: JsonObject): boolean {
    return this.#notify(method, params, { relatedRequestId: id });
  }

  #notify(method: string, params: JsonObject, stream: { relatedRequestId: RequestId } | undefined): boolean {
    if (this.#closed || this.#unsent >= MAX_UNSENT) return false;
    const message: JSONRPCMessage = { jsonrpc: "2.0", method, params };
    this.#unsent += 1;
    const sent = (): void => {
      this.#unsent -= 1;
    };
    this.#send(message, stream).then(sent, sent);
    return true;
  }

  /** Sends a request of ours on the stream of one of the client's. Whether it arrives shows in whether it is answered. */
  ask(request: { id: string; method: string; params: JsonObject }, relatedRequestId: RequestId): void {
    if (this.#closed) return;
    this.#send({ jsonrpc: "2.0", ...request }, { relatedRequestId }).catch(ignore);
  }

  /** Takes a request of ours back. */
  cancelAsked(requestId: string, reason: string, relatedRequestId: RequestId): void {
    if (this.#closed) return;
    const params = { requestId, reason };
    this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params }, { relatedRequestId }).catch(ignore);
  }
}

function ignore(): void {}

/** Tells one waiting request that nobody waits for its answer. */
class Hangup implements StopSignal {
  reason: unknown;
  aborted = false;
  /** A request waits for one thing at a time. */
  #listener: (() => void) | undefined;

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(): void {
    this.#listener = undefined;
  }

  stop(reason: unknown): void {
    this.aborted = true;
    this.reason = reason;
    this.#listener?.();
  }
}

/** A JSON-RPC response as far as it matters here. */
export interface Response {
  jsonrpc: "2.0";
  id?: RequestId;
  result?: JsonObject;
  error?: unknown;
}

/** `_meta` key of a result of revision 2026-07-28: how the server names itself. */
export const SERVER_INFO_META = "io.modelcontextprotocol/serverInfo";

function response(id: RequestId, answer: Answer, serverInfo: JsonValue | undefined): JSONRPCMessage {
  if ("fault" in answer) return { jsonrpc: "2.0", id, error: wireError(answer.fault) };
  if ("raised" in answer) return { jsonrpc: "2.0", id, error: answer.raised };
  return { jsonrpc: "2.0", id, result: withServerInfo(answer.result, serverInfo) };
}

/** Revision 2026-07-28 has servers name themselves in every result, which the SDK does in its own. */
function serverInfoOf(result: JsonObject | undefined): JsonValue | undefined {
  return (result?._meta as JsonObject | undefined)?.[SERVER_INFO_META];
}

function withServerInfo(result: JsonObject, serverInfo: JsonValue | undefined): JsonObject {
  if (serverInfo === undefined) return result;
  return { ...result, _meta: { ...(result._meta as JsonObject | undefined), [SERVER_INFO_META]: serverInfo } };
}

/**
 * The SDK puts refused arguments into an `isError` result. Who asked for a task in the request itself takes any result
 * for a claim check and would fail on that one; they get the same words as an error.
 */
function invalidArguments({ dialect }: TaskIntent, result: JsonObject | undefined): Answer | undefined {
  if (result?.isError !== true || !dialect.asksByRequest) return undefined;
  const [block] = Array.isArray(result.content) ? result.content : [];
  const message = (block as JsonObject | undefined)?.text;
  return { fault: { code: "invalid_arguments", message: typeof message === "string" ? message : "Invalid arguments" } };
}
