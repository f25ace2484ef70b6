/** From a call to the record of its task: what of the call is accepted, and what a retry is. */
import type { ToolDefinition } from "./context.js";
import { TaskError } from "./errors.js";
import { assertArguments, checkIdempotencyKey, fingerprint } from "./fingerprint.js";
import { newTaskId } from "./ids.js";
import type { JsonObject } from "./json.js";
import type { Settings } from "./runtime-options.js";
import { assertKeptRequest } from "./size-limits.js";
import type { Attempt, LiveTask, TaskRecord } from "./task.js";
import { policyOf } from "./tool-recovery.js";
import type { Watcher } from "./watchers.js";

export interface CreateTask {
  owner: string;
  toolName: string;
  /** The arguments as the caller sent them. */
  arguments: JsonObject;
  /** The caller's wish for retention after finish. `null`: as long as is allowed. */
  ttlMs?: number | null | undefined;
  /** As the caller sent it; anything but a proper key is refused. */
  idempotencyKey?: unknown;
  /** What of the request the tool may still read later. */
  request?: JsonObject;
  /** The validated arguments, handed to the handler when it runs in this process. */
  input?: unknown;
  /** Told of everything that happens to a new task from its very start, as by {@link TaskRuntime.subscribe}. Not of a replayed one. */
  watcher?: Watcher;
}

export interface CreatedTask {
  /** The record as it was created, `working`, even if the work has ended meanwhile; on a replay, as it now is. */
  task: TaskRecord;
  /** Whether an earlier call of the same key made the task. */
  replayed: boolean;
}

/**
 * The record of the task that `call` asks for.
 *
 * @throws TaskError `invalid_ttl`, `invalid_idempotency_key`, `invalid_arguments`, `too_large`
 */
export function newTask(
  tool: ToolDefinition,
  call: CreateTask,
  attempt: Attempt,
  now: number,
  settings: Settings,
): LiveTask {
  assertArguments(call.arguments, settings.maxArgumentsBytes);
  if (call.request !== undefined) assertKeptRequest(call.request, settings.maxKeptRequestBytes);
  const record: LiveTask = {
    taskId: newTaskId(),
    owner: call.owner,
    toolName: tool.name,
    arguments: call.arguments,
    status: "working",
    createdAt: now,
    lastUpdatedAt: now,
    ttlMs: ttlOf(call.ttlMs, tool, settings),
    recovery: policyOf(tool.recovery),
    questions: [],
    attempt,
    version: 1,
  };
  if (call.idempotencyKey !== undefined) {
    record.idempotencyKey = checkIdempotencyKey(call.idempotencyKey);
    record.fingerprint = fingerprint(tool.name, call.arguments);
  }
  if (tool.pollIntervalMs !== undefined) record.pollIntervalMs = tool.pollIntervalMs;
  if (tool.maxRunMs !== undefined) record.maxRunMs = tool.maxRunMs;
  if (call.request !== undefined) record.request = call.request;
  return record;
}

/** What retention is enforced for a wish; what is echoed is this. */
function ttlOf(wish: number | null | undefined, tool: ToolDefinition, settings: Settings): number {
  const { defaultTtlMs, maxTtlMs } = settings;
  if (wish === undefined) return Math.min(tool.ttlMs ?? defaultTtlMs, maxTtlMs);
  if (wish === null) return maxTtlMs;
  if (typeof wish !== "number" || !Number.isFinite(wish) || wish < 0) {
    const got = typeof wish === "number" ? String(wish) : JSON.stringify(wish);
    throw new TaskError("invalid_ttl", `ttl must be a finite number of milliseconds, at least 0, or null; got ${got}.`);
  }
  return Math.min(Math.floor(wish), maxTtlMs);
}

/**
 * Answers the earlier task, if it is of the same call.
 *
 * @throws TaskError `idempotency_conflict` when it is of another
 */
export function replay(earlier: TaskRecord, asked: TaskRecord): CreatedTask {
  if (earlier.owner !== asked.owner || earlier.idempotencyKey !== asked.idempotencyKey)
    throw new Error("The store answered a task that does not hold this owner's key.");
  if (earlier.fingerprint === asked.fingerprint) return { task: earlier, replayed: true };
  const why = earlier.toolName === asked.toolName ? "other arguments" : `the tool ${JSON.stringify(earlier.toolName)}`;
  throw new TaskError(
    "idempotency_conflict",
    `The idempotency key was used for a call with ${why}. Use a new key for a new call.`,
  );
}
