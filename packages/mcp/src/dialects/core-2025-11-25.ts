/** Core tasks of protocol revision 2025-11-25 (basic/utilities/tasks). */
import type { TaskRecord, TaskSummary } from "@claimcheck/core";
import { type Answer, type Dialect, decideByRequest, PARTIAL_OUTPUT_META } from "./dialect.js";
import { cancelledEmpty, legacyGot, legacyList, legacyTask, type Shown } from "./legacy-task.js";
import { failedResult, partialOutputOf, partialResult, withMeta, withRelatedTask } from "./tool-result.js";

export const core20251125: Dialect = dialect(shownOf);

/** The same for clients that never fetch a failed task's result: one that says `isError` is of a completed task. */
export const core20251125WithoutErrorStatus: Dialect = dialect((task) => ({
  status: task.status,
  statusMessage: messageOf(task),
}));

function dialect(shownOf: (task: TaskRecord | TaskSummary) => Shown): Dialect {
  return {
    name: "2025-11-25",
    asksByRequest: true,
    decide: decideByRequest,
    created: (task) => ({ task: legacyTask(task, shownOf(task)) }),
    got: (task, options) => legacyGot(task, shownOf(task), options),
    listed: (page) => ({ result: legacyList(page, shownOf) }),
    result,
    cancelled: (task, cancelled) => {
      const shown = shownOf(task);
      if (cancelled) return { result: legacyTask(task, shown) };
      return {
        fault: { code: "already_terminal", message: `The task is already ${shown.status} and cannot be cancelled.` },
      };
    },
    statusNotification: (task) => ({ method: "notifications/tasks/status", params: legacyTask(task, shownOf(task)) }),
  };
}

/** An `isError` result is a failed task here, and clients do not fetch a failed task's result: what went wrong must be in the message. */
function shownOf(task: TaskRecord | TaskSummary): Shown {
  const status = outcomeKind(task) === "error_result" ? "failed" : task.status;
  return { status, statusMessage: messageOf(task) };
}

function outcomeKind(task: TaskRecord | TaskSummary): string | undefined {
  return "outcome" in task ? task.outcome.kind : (task as TaskSummary).outcomeKind;
}

function messageOf(task: TaskRecord | TaskSummary): string | undefined {
  return task.statusMessage ?? (outcomeKind(task) === "error_result" ? "The tool reported an error." : undefined);
}

function result(task: TaskRecord): Answer | "wait" {
  switch (task.status) {
    case "working":
    case "input_required":
      return "wait";
    case "completed":
      return { result: withRelatedTask(task.outcome.result, task.taskId) };
    case "failed":
      if (task.outcome.kind === "protocol_error") return { raised: task.outcome.error };
      return { result: withRelatedTask(failedResult(task, task.outcome), task.taskId) };
    case "cancelled":
      return cancelledResult(task);
  }
}

function cancelledResult(task: TaskRecord): Answer {
  const outputs = partialOutputOf(task);
  if (outputs === undefined) return { fault: cancelledEmpty() };
  const marked = withMeta(partialResult(outputs), { [PARTIAL_OUTPUT_META]: true });
  return { result: withRelatedTask(marked, task.taskId) };
}
