/**
 * What every dialect of the wire protocol for tasks has to say, and how it is chosen. A dialect is pure: it decides
 * what becomes of a call, and projects a record; it reads no clock, no store and no connection.
 */
import {
  isTerminal,
  type JsonObject,
  type JsonValue,
  type TaskErrorCode,
  type TaskPage,
  type TaskRecord,
  type TaskStatus,
} from "@claimcheck/core";

/** The extension of our own contract, and of our settings. One constant: nothing else about a task depends on it. */
export const DATALAYER_EXTENSION = "io.datalayer/tasks";
/** The official extension of protocol revision 2026-07-28. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/** `_meta` key that ties a message to its task (2025-11-25, "Related task metadata"). */
export const RELATED_TASK_META = "io.modelcontextprotocol/related-task";
/** `_meta` key of a call: its idempotency key. */
export const IDEMPOTENCY_META = "io.datalayer/idempotency-key";
/**
 * `_meta` key. `true` on a result: the work was ended before its own end, this is what it had produced. `true` on a `tasks/get`
 * request: asks for what there is so far, or was when it failed; answered under the same key.
 */
export const PARTIAL_OUTPUT_META = "io.datalayer/partial-output";
/** `_meta` key of a claim check: what a host may tell its model at once (2025-11-25, tasks, "Model Immediate Response"). */
export const IMMEDIATE_RESPONSE_META = "io.modelcontextprotocol/model-immediate-response";
/** `_meta` key of a `tasks/get` answer: how far the work says it has come. */
export const PROGRESS_META = "io.datalayer/progress";

export type DialectName = typeof DATALAYER_EXTENSION | "2025-11-25" | typeof TASKS_EXTENSION;

/** Which generation of the protocol a request speaks: with `initialize`, or with an envelope in every request's `_meta`. */
export type Era = "2025" | "2026";

/** Whether a tool may, must or cannot run as a task. */
export type TaskSupport = "optional" | "required" | "forbidden";

/** What can go wrong on the wire beyond what the runtime refuses; `wire/error-map.ts` gives each its number. */
export type FaultCode =
  | TaskErrorCode
  | "task_required"
  | "task_unsupported"
  | "extension_required"
  | "invalid_params"
  | "identity_required"
  | "method_not_found"
  | "result_not_ready"
  | "already_terminal"
  | "no_result"
  | "tool_failed"
  | "internal";

export interface Fault {
  code: FaultCode;
  message: string;
  data?: JsonValue;
}

/** A JSON-RPC error as a tool raised it, number and all. */
export interface RaisedError {
  code: number;
  message: string;
  data?: JsonValue;
}

/** What goes out for a request. */
export type Answer = { result: JsonObject } | { fault: Fault } | { raised: RaisedError };

/** One `tools/call`, as far as the decision depends on it. */
export interface Call {
  /** Whether this connection speaks of tasks at all; if not, task metadata is ignored. */
  negotiated: boolean;
  taskSupport: TaskSupport;
  /** Whether `params.task` is there; `{}` counts. */
  asked: boolean;
  toolName: string;
}

export type Decision = { kind: "direct" } | { kind: "task" } | { kind: "refuse"; fault: Fault };

export interface Notification {
  method: string;
  params: JsonObject;
}

/** What a reader asked for beyond the task's state. */
export interface GetOptions {
  now: number;
  /** Show what the work has produced so far. */
  partialOutput?: boolean;
  /** The generation of the request. Default: that of the dialect. */
  era?: Era;
}

export interface Dialect {
  readonly name: DialectName;
  /** Whether the caller asks for a task with `params.task`, and then takes any result for a claim check. */
  readonly asksByRequest: boolean;
  decide(call: Call): Decision;
  /** The answer to `tools/call`; `task` is the creation-time snapshot. */
  created(task: TaskRecord, era: Era, now: number): JsonObject;
  /** The answer to `tasks/get`. */
  got(task: TaskRecord, options: GetOptions): JsonObject;
  /** The answer to `tasks/list`; a fault where the dialect has no list. */
  listed(page: TaskPage): Answer;
  /** The answer to `tasks/result`; `"wait"` where the request stays open. A fault where the dialect has none. */
  result(task: TaskRecord): Answer | "wait";
  /** The answer to `tasks/cancel`; `cancelled` is false when the task was, or became, terminal otherwise. */
  cancelled(task: TaskRecord, cancelled: boolean): Answer;
  /** What is pushed when the task changed; `null` when nothing is. */
  statusNotification(task: TaskRecord, now: number): Notification | null;
}

/** Unknown, expired and somebody else's: word for word the same, so that the answer tells nobody which ids exist. */
export function noSuchTask(): Fault {
  return { code: "no_such_task", message: "No such task." };
}

/** Why something that needs an owner is refused, with what each side can do: who reads it may be the server's author. */
export function identityRequired(): Fault {
  const message =
    "Tasks need an identity, and this request has none. A client can authenticate or, up to 2025-11-25, open a session, where the server takes it. " +
    'A server can say who comes in (auth of serveHttp), or that it serves one person: createTasks({ ownership: "single-user" }).';
  return { code: "identity_required", message };
}

export function methodNotFound(): Fault {
  return { code: "method_not_found", message: "Method not found" };
}

/** What a call asks for with `params.task`. */
export type TaskRequest = { asked: false } | { asked: true; ttl: number | null | undefined } | { fault: Fault };

/** Reads `params.task`: absent and null ask for nothing, an object asks, its stray members are ignored. */
export function readTaskRequest(task: unknown): TaskRequest {
  if (task === undefined || task === null) return { asked: false };
  if (typeof task !== "object" || Array.isArray(task)) {
    return { fault: { code: "invalid_params", message: '"task" must be an object; {} asks for a task.' } };
  }
  const { ttl } = task as { ttl?: unknown };
  if (ttl === undefined || ttl === null) return { asked: true, ttl };
  if (typeof ttl === "number" && Number.isFinite(ttl) && ttl >= 0) return { asked: true, ttl };
  const message = `ttl must be a finite number of milliseconds, at least 0, or null; got ${JSON.stringify(ttl)}.`;
  return { fault: { code: "invalid_ttl", message } };
}

export const DIRECT: Decision = { kind: "direct" };
export const TASK: Decision = { kind: "task" };

/** The decision of the dialects in which the caller asks with `params.task`. */
export function decideByRequest(call: Call): Decision {
  if (!call.negotiated) return DIRECT;
  if (call.taskSupport === "forbidden" && call.asked) {
    return refuse("task_unsupported", `Tool ${call.toolName} cannot run as a task: call it without "task".`);
  }
  if (call.taskSupport === "required" && !call.asked) {
    return refuse("task_required", `Tool ${call.toolName} runs as a task only: call it with "task": {}.`);
  }
  return call.asked ? TASK : DIRECT;
}

function refuse(code: FaultCode, message: string): Decision {
  return { kind: "refuse", fault: { code, message } };
}

/** Whether the last word about a task in this status is spoken. */
export function isTerminalStatus(status: TaskStatus): boolean {
  return isTerminal({ status });
}
