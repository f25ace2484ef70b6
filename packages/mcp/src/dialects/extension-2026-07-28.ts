/** The extension `io.modelcontextprotocol/tasks` of protocol revision 2026-07-28 (SEP-2663). */
import { boundedText, type JsonObject, type TaskRecord, type TaskStatus } from "@claimcheck/core";
import {
  type Answer,
  type Call,
  type Decision,
  DIRECT,
  type Dialect,
  type Fault,
  type GetOptions,
  isTerminalStatus,
  methodNotFound,
  PARTIAL_OUTPUT_META,
  type RaisedError,
  TASK,
  TASKS_EXTENSION,
} from "./dialect.js";
import { inputRequests } from "./input-requests.js";
import { isoInstant } from "./iso-instant.js";
import { ttlFromCreation } from "./legacy-task.js";
import { failedResult, partialOutputOf, partialResult, withMeta, withoutRelatedTask } from "./tool-result.js";

export const extension20260728: Dialect = {
  name: TASKS_EXTENSION,
  asksByRequest: false,
  decide: ({ taskSupport }) => (taskSupport === "forbidden" ? DIRECT : TASK),
  created: (task, _era, now) => ({ resultType: "task", ...flatTask(task, now) }),
  got: (task, options) => ({ resultType: "complete", ...detailedTask(task, options) }),
  listed: () => ({ fault: methodNotFound() }),
  result: () => ({ fault: methodNotFound() }),
  cancelled: () => ({ result: { resultType: "complete" } }),
  statusNotification: (task, now) => ({ method: "notifications/tasks", params: detailedTask(task, { now }) }),
};

/** The decision about a request of this era that declared no extension for tasks: it never gets one. */
export function decideUndeclared({ taskSupport, toolName }: Call): Decision {
  if (taskSupport !== "required") return DIRECT;
  return { kind: "refuse", fault: extensionRequired(`Tool ${toolName} runs as a task only`) };
}

/** What a request gets that needs the extension and has not declared it. */
export function extensionRequired(what: string): Fault {
  return {
    code: "extension_required",
    message: `${what}: declare the extension ${TASKS_EXTENSION} in the request's client capabilities.`,
    data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  };
}

/** Age up to which clients are asked to poll at that interval, ms: quick work is seen at once, long work is not asked about in vain. */
const POLL_INTERVALS: readonly { untilAgeMs: number; intervalMs: number }[] = [
  { untilAgeMs: 2_000, intervalMs: 100 },
  { untilAgeMs: 60_000, intervalMs: 1_000 },
  { untilAgeMs: Number.POSITIVE_INFINITY, intervalMs: 5_000 },
];

function pollIntervalMs(task: TaskRecord, now: number): number {
  if (task.pollIntervalMs !== undefined) return Math.max(1, Math.round(task.pollIntervalMs));
  const age = now - task.createdAt;
  return POLL_INTERVALS.find(({ untilAgeMs }) => age < untilAgeMs)?.intervalMs ?? 5_000;
}

function flatTask(task: TaskRecord, now: number): JsonObject {
  const status = shownStatus(task);
  const wire: JsonObject = { taskId: task.taskId, status };
  if (task.statusMessage !== undefined) wire.statusMessage = boundedText(task.statusMessage);
  wire.createdAt = isoInstant(task.createdAt);
  wire.lastUpdatedAt = isoInstant(task.lastUpdatedAt);
  wire.ttlMs = Math.round(ttlFromCreation(task));
  if (!isTerminalStatus(status)) wire.pollIntervalMs = pollIntervalMs(task, now);
  return wire;
}

/** In this revision `failed` means a JSON-RPC error; a tool that threw completed with the result that says so. */
function shownStatus(task: TaskRecord): TaskStatus {
  return task.status === "failed" && task.outcome.kind === "threw" ? "completed" : task.status;
}

function detailedTask(task: TaskRecord, { now, partialOutput }: GetOptions): JsonObject {
  const wire = { ...flatTask(task, now), ...outcomeMembers(task) };
  if (partialOutput !== true) return wire;
  return withMeta(wire, { [PARTIAL_OUTPUT_META]: partialOutputOf(task) ?? [] });
}

function outcomeMembers(task: TaskRecord): JsonObject {
  switch (task.status) {
    case "working":
      return {};
    case "input_required":
      return { inputRequests: inputRequests(task) };
    case "completed":
      return { result: inlined(task.outcome.result) };
    case "failed":
      if (task.outcome.kind === "threw") return { result: inlined(failedResult(task, task.outcome)) };
      return { error: { ...task.outcome.error } };
    case "cancelled": {
      const outputs = partialOutputOf(task);
      if (outputs === undefined) return {};
      return { result: withMeta(inlined(partialResult(outputs)), { [PARTIAL_OUTPUT_META]: true }) };
    }
  }
}

/** The answer to a call whose task has ended before anybody was told of it; `null` when it was cancelled. */
export function inlinedOutcome(task: TaskRecord): Answer | null {
  const { result, error } = outcomeMembers(task);
  if (error !== undefined) return { raised: error as unknown as RaisedError };
  return result === undefined || task.status === "cancelled" ? null : { result: result as JsonObject };
}

/** The published client checks an inlined result against the schema of a `complete` one. */
function inlined(result: JsonObject): JsonObject {
  return { ...withoutRelatedTask(result), resultType: "complete" };
}
