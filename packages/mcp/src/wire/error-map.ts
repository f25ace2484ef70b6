/** The only place that knows JSON-RPC numbers. */
import { isTaskError, type TaskError } from "@claimcheck/core";
import type { Fault, FaultCode, RaisedError } from "../dialects/dialect.js";

const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
/** Ours, from the range that JSON-RPC leaves to servers: the call was right, but not now. */
const LIMIT_REACHED = -32005;
/** 2026-07-28: the request did not declare a client capability that it needs. */
const MISSING_CLIENT_CAPABILITY = -32021;

const NUMBERS: Readonly<Record<FaultCode, number>> = {
  no_such_task: INVALID_PARAMS,
  invalid_ttl: INVALID_PARAMS,
  invalid_idempotency_key: INVALID_PARAMS,
  idempotency_conflict: INVALID_PARAMS,
  invalid_arguments: INVALID_PARAMS,
  invalid_cursor: INVALID_PARAMS,
  invalid_answer: INVALID_PARAMS,
  unknown_tool: INVALID_PARAMS,
  limit_reached: LIMIT_REACHED,
  too_large: INVALID_PARAMS,
  not_open: INTERNAL_ERROR,
  store_unusable: INTERNAL_ERROR,
  task_required: METHOD_NOT_FOUND,
  task_unsupported: METHOD_NOT_FOUND,
  extension_required: MISSING_CLIENT_CAPABILITY,
  invalid_params: INVALID_PARAMS,
  identity_required: INVALID_REQUEST,
  method_not_found: METHOD_NOT_FOUND,
  result_not_ready: INVALID_PARAMS,
  already_terminal: INVALID_PARAMS,
  no_result: INTERNAL_ERROR,
  tool_failed: INTERNAL_ERROR,
  internal: INTERNAL_ERROR,
};

/** The JSON-RPC error that says `fault`. */
export function wireError({ code, message, data }: Fault): RaisedError {
  const number = NUMBERS[code] ?? INTERNAL_ERROR;
  return data === undefined ? { code: number, message } : { code: number, message, data };
}

/** The HTTP status of a response that is an error: of what a server answers, 2026-07-28 gives only a missing capability one of its own. */
export function httpStatusOf({ code }: RaisedError): number {
  return code === MISSING_CLIENT_CAPABILITY ? 400 : 200;
}

/** Whether `error` says what its caller has to know. What is the matter with the store is its operator's business: it names paths and hosts. */
export function isForCaller(error: unknown): error is TaskError {
  return isTaskError(error) && error.code !== "store_unusable";
}

/** The fault that a refusal of the runtime is on the wire. */
export function faultOf({ code, message, data }: TaskError): Fault {
  return data === undefined ? { code, message } : { code, message, data: data as NonNullable<Fault["data"]> };
}

/** What the client hears of an error that nobody foresaw: nothing of its text, which may name paths, hosts and secrets. */
export const INTERNAL_FAULT: Fault = { code: "internal", message: "Internal error" };
