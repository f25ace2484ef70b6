/** What becomes of one `tools/call`, decided from its params as they came in: it runs, it becomes a task, or it is refused. */
import type { JsonObject } from "@claimcheck/core";
import {
  type Call,
  DATALAYER_EXTENSION,
  type Decision,
  type Dialect,
  type Fault,
  IDEMPOTENCY_META,
  readTaskRequest,
  type TaskSupport,
} from "../dialects/dialect.js";
import { decideUndeclared } from "../dialects/extension-2026-07-28.js";
import { requestedLogLevel } from "../logging.js";
import type { TaskIntent } from "../wire/connection.js";
import { asObject, type Declaration } from "../wire/request.js";

/** What a request declared, and the dialect that it is served in; `null` when tasks were not negotiated. */
export interface Spoken {
  declaration: Declaration;
  dialect: Dialect | null;
}

/** The tool that is called, as far as tasks are concerned. */
export interface Callee {
  name: string;
  taskSupport: TaskSupport;
  /** Whether its direct calls go on as tasks when they take long. Default: no. */
  promotes?: boolean;
}

/** `run` is the SDK's; `task` carries what the caller asked for. */
export type Incoming = { kind: "run" } | { kind: "task"; intent: TaskIntent } | { kind: "refuse"; fault: Fault };

const RUN: Incoming = { kind: "run" };

/** What is asked of the request only where it matters. */
export interface Circumstances {
  /** Whether the connection's protocol revision knows tasks. */
  revisionHasTasks: () => boolean;
  /** Whether the caller can own a task. */
  hasIdentity: () => boolean;
}

export function decideIncoming(
  params: JsonObject,
  callee: Callee,
  { dialect, declaration }: Spoken,
  { revisionHasTasks, hasIdentity }: Circumstances,
): Incoming {
  if (dialect === null) return withoutTask(decideUndeclared(callOf(callee, false, false)));
  if (!dialect.asksByRequest) {
    const decided = incoming(dialect.decide(callOf(callee, true, false)), params, dialect, declaration, undefined);
    return needsNoTask(decided, callee) && !hasIdentity() ? RUN : decided;
  }
  // Who declares our extension asks for what it has, whatever the revision.
  if (dialect.name !== DATALAYER_EXTENSION && !revisionHasTasks()) {
    return withoutTask(dialect.decide(callOf(callee, false, false)));
  }
  const request = readTaskRequest(params.task);
  if ("fault" in request) return { kind: "refuse", fault: request.fault };
  const ttl = request.asked ? request.ttl : undefined;
  return incoming(dialect.decide(callOf(callee, true, request.asked)), params, dialect, declaration, ttl);
}

/**
 * Whether the call is served as well without a task, should nobody be there to own one: where the server decides, its caller
 * asked for none. A key asks for one, since only a task is found again by it.
 */
function needsNoTask(decided: Incoming, { taskSupport }: Callee): boolean {
  return decided.kind === "task" && taskSupport === "optional" && !("idempotencyKey" in decided.intent);
}

function callOf({ name, taskSupport }: Callee, negotiated: boolean, asked: boolean): Call {
  return { toolName: name, taskSupport, negotiated, asked };
}

function withoutTask(decision: Decision): Incoming {
  return decision.kind === "refuse" ? decision : RUN;
}

function incoming(
  decision: Decision,
  params: JsonObject,
  dialect: Dialect,
  { era, askable }: Declaration,
  ttl: number | null | undefined,
): Incoming {
  if (decision.kind !== "task") return withoutTask(decision);
  const intent: TaskIntent = { dialect, era, askable, arguments: asObject(params.arguments) ?? {}, ttl };
  const meta = asObject(params._meta);
  const fault = meta === undefined ? undefined : readMeta(meta, intent);
  return fault === undefined ? { kind: "task", intent } : { kind: "refuse", fault };
}

/** In UTF-16 units: it is kept for as long as the task runs, and goes out with all that is told of its progress. */
const MAX_PROGRESS_TOKEN_LENGTH = 1000;

/** Answers why the call is refused, if it is. */
function readMeta(meta: JsonObject, intent: TaskIntent): Fault | undefined {
  if (Object.hasOwn(meta, IDEMPOTENCY_META)) intent.idempotencyKey = meta[IDEMPOTENCY_META];
  const { progressToken } = meta;
  if (typeof progressToken === "string" && progressToken.length > MAX_PROGRESS_TOKEN_LENGTH) {
    const problem = `it has ${progressToken.length}`;
    return {
      code: "invalid_params",
      message: `progressToken may have ${MAX_PROGRESS_TOKEN_LENGTH} characters; ${problem}.`,
    };
  }
  if (typeof progressToken === "string" || typeof progressToken === "number") intent.progressToken = progressToken;
  const logLevel = intent.era === "2026" ? requestedLogLevel(meta) : undefined;
  if (logLevel !== undefined) intent.logLevel = logLevel;
  return undefined;
}
