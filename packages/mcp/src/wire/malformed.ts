/**
 * What comes in and is no message, or not quite. The SDK drops it without a word, and whoever sent it waits for an answer
 * for ever: here it gets one (JSON-RPC 2.0, section 5.1), unless leaving out what means nothing makes a message of it.
 */
import type { JsonObject } from "@claimcheck/core";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { RELATED_TASK_META } from "../dialects/dialect.js";
import { asObject } from "./request.js";

/** The answer to what is no message. The id is left out where it cannot be told, as MCP's schema has it. */
export interface Rejection {
  jsonrpc: "2.0";
  id?: string | number;
  error: { code: number; message: string };
}

const REQUEST: readonly string[] = ["jsonrpc", "id", "method", "params"];
const MEMBERS: readonly string[] = [...REQUEST, "result", "error"];

/**
 * `message` without what the SDK would refuse it for though it decides nothing: members that JSON-RPC does not know, and
 * related-task metadata that names no task.
 */
export function tidied(message: unknown): unknown {
  const object = asObject(message);
  if (object === undefined) return message;
  const known = knownMembers(object);
  const holder = "method" in known ? "params" : "result";
  const held = asObject(known[holder]);
  const meta = asObject(held?._meta);
  const related = meta?.[RELATED_TASK_META];
  if (related === undefined || typeof asObject(related)?.taskId === "string") return known;
  const { [RELATED_TASK_META]: _, ...rest } = meta as JsonObject;
  return { ...known, [holder]: { ...held, _meta: rest } };
}

function knownMembers(message: JsonObject): JsonObject {
  if (hasOnly(message, MEMBERS)) return message;
  return Object.fromEntries(Object.entries(message).filter(([name]) => MEMBERS.includes(name)));
}

/** What `message` is answered that is none; `undefined` for a message, and for a notification, which nothing is answered to. */
export function rejectionOf(message: unknown): Rejection | undefined {
  if (isPlainlyRequest(message)) return undefined;
  try {
    parseJSONRPCMessage(message);
    return undefined;
  } catch {
    return isNotification(message) ? undefined : requestRejection(message);
  }
}

/** Of most requests a look says what the SDK's schema would, which takes longer than all the rest that is done for them. */
function isPlainlyRequest(message: unknown): boolean {
  const object = asObject(message);
  if (object === undefined || !hasOnly(object, REQUEST)) return false;
  const { jsonrpc, id, method, params } = object;
  if (jsonrpc !== "2.0" || typeof method !== "string") return false;
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return false;
  if (params === undefined) return true;
  const meta = asObject(params)?._meta;
  if (meta === undefined) return asObject(params) !== undefined;
  const { progressToken = "", [RELATED_TASK_META]: related } = asObject(meta) ?? { progressToken: null };
  return related === undefined && (typeof progressToken === "string" || Number.isSafeInteger(progressToken));
}

function hasOnly(object: JsonObject, names: readonly string[]): boolean {
  for (const name in object) if (!names.includes(name)) return false;
  return true;
}

/** Never answered, whatever is wrong with it (JSON-RPC 2.0, section 4.1); the SDK tells `onerror` and drops it. */
function isNotification(message: unknown): boolean {
  const { jsonrpc, method, ...rest } = asObject(message) ?? {};
  return jsonrpc === "2.0" && typeof method === "string" && !("id" in rest);
}

/** A response's id is one of ours: an answer to it would be taken for the answer to a request of the client's. */
function requestRejection(message: unknown): Rejection {
  const { jsonrpc, id, method, params } = asObject(message) ?? {};
  if (jsonrpc !== "2.0" || !("id" in idOf({ id, method }))) {
    return { ...rejection(-32600, "Invalid request: this is no JSON-RPC message."), ...idOf({ id, method }) };
  }
  const why =
    asObject(params) === undefined
      ? "params must be an object"
      : "params._meta must be an object, and its progressToken a string or an integer";
  return invalidParams(message, why);
}

/** The answer to a request whose params cannot be taken. */
export function invalidParams(message: unknown, why: string): Rejection {
  return { ...rejection(-32602, `Invalid params: ${why}.`), ...idOf(asObject(message) ?? {}) };
}

/** Of a request only. */
function idOf({ id, method }: { id?: unknown; method?: unknown }): { id?: string | number } {
  const isId = typeof id === "string" || Number.isSafeInteger(id);
  return typeof method === "string" && isId ? { id: id as string | number } : {};
}

export function rejection(code: number, message: string): Rejection {
  return { jsonrpc: "2.0", error: { code, message } };
}

/**
 * Answers what is no message on a connection that hands over what it gets as it comes. What is malformed reaches nobody
 * else, so this has to be the last that a transport is decorated with.
 *
 * @param send the transport's own
 */
export function answerMalformed(transport: Transport, send: Transport["send"], onerror?: (error: Error) => void): void {
  const { onmessage } = transport;
  transport.onmessage = (received, extra) => {
    if (isPlainlyRequest(received)) return onmessage?.(received as JSONRPCMessage, extra);
    const message = tidied(received);
    const rejected = rejectionOf(message);
    if (rejected === undefined) return onmessage?.(message as JSONRPCMessage, extra);
    onerror?.(rejectedError(rejected));
    send(rejected as JSONRPCMessage).catch(() => {});
  };
}

/** What whoever serves is told of it: nothing of what it says. */
export function rejectedError({ error }: Rejection): Error {
  return new Error(`What came in was no JSON-RPC message, and was answered with ${error.code}.`);
}
