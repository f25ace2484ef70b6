/**
 * `io.datalayer/tasks`: the contract of the Jupyter MCP server's page on tasks. Its shapes are those of 2025-11-25;
 * it differs in that a result that is not there yet is refused, and that a failed task's result raises.
 */
import type { JsonValue, TaskRecord, TaskSummary } from "@claimcheck/core";
import {
  type Answer,
  DATALAYER_EXTENSION,
  type Dialect,
  decideByRequest,
  isTerminalStatus,
  type RaisedError,
} from "./dialect.js";
import { inputRequests } from "./input-requests.js";
import {
  cancelledEmpty,
  LEGACY_POLL_INTERVAL_MS,
  legacyGot,
  legacyList,
  legacyTask,
  type Shown,
} from "./legacy-task.js";
import { partialOutputOf, partialResult, withRelatedTask } from "./tool-result.js";

export const datalayer: Dialect = {
  name: DATALAYER_EXTENSION,
  asksByRequest: true,
  decide: decideByRequest,
  created: (task, era) => {
    const answer = { task: legacyTask(task, shownOf(task)) };
    return era === "2026" ? { resultType: "task", ...answer } : answer;
  },
  got: (task, options) => {
    const got = legacyGot(task, shownOf(task), options);
    // A client of 2026 is sent no requests: it sees what is asked here, and answers by `io.datalayer/tasks/update`.
    if (options.era !== "2026" || task.status !== "input_required") return got;
    return { ...got, inputRequests: inputRequests(task) };
  },
  listed: (page) => ({ result: legacyList(page, shownOf) }),
  result,
  cancelled: (task) => ({ result: legacyTask(task, shownOf(task)) }),
  statusNotification: (task) => {
    if (!isTerminalStatus(task.status)) return null;
    return { method: "notifications/tasks/status", params: legacyTask(task, shownOf(task)) };
  },
};

function shownOf(task: TaskRecord | TaskSummary): Shown {
  return { status: task.status, statusMessage: task.statusMessage };
}

function result(task: TaskRecord): Answer | "wait" {
  switch (task.status) {
    case "input_required":
      return "wait";
    case "working":
      return notReady(task);
    case "completed":
      return { result: withRelatedTask(task.outcome.result, task.taskId) };
    case "failed":
      return task.outcome.kind === "threw"
        ? raise({ message: task.outcome.message }, partialOutputOf(task))
        : { raised: carrying(task.outcome.error, partialOutputOf(task)) };
    case "cancelled":
      return cancelledResult(task);
  }
}

function notReady(task: TaskRecord): Answer {
  const pollInterval = task.pollIntervalMs ?? LEGACY_POLL_INTERVAL_MS;
  const message = `The task is still ${task.status}: its result is there once it is terminal.`;
  return { fault: { code: "result_not_ready", message, data: { status: task.status, pollInterval } } };
}

function raise({ message }: { message: string }, partialOutput: JsonValue[] | undefined): Answer {
  if (partialOutput === undefined) return { fault: { code: "tool_failed", message } };
  return { fault: { code: "tool_failed", message, data: { partialOutput } } };
}

/** The tool's own error, and beside its data what the work had produced: that is where the cause is read. */
function carrying(error: RaisedError, partialOutput: JsonValue[] | undefined): RaisedError {
  if (partialOutput === undefined) return error;
  const { data } = error;
  if (data === undefined) return { ...error, data: { partialOutput } };
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  return { ...error, data: isObject ? { ...data, partialOutput } : { data, partialOutput } };
}

function cancelledResult(task: TaskRecord): Answer {
  const outputs = partialOutputOf(task);
  if (outputs !== undefined) return { result: withRelatedTask(partialResult(outputs), task.taskId) };
  return { fault: cancelledEmpty() };
}
