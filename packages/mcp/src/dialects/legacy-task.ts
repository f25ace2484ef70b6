/** The `Task` object of revision 2025-11-25, which both dialects of its time put on the wire. */
import {
  boundedText,
  type JsonObject,
  type TaskPage,
  type TaskRecord,
  type TaskStatus,
  type TaskSummary,
} from "@claimcheck/core";
import { type Fault, type GetOptions, isTerminalStatus, PARTIAL_OUTPUT_META, PROGRESS_META } from "./dialect.js";
import { isoInstant } from "./iso-instant.js";
import { partialOutputOf, withMeta } from "./tool-result.js";

/** Low enough that nobody waits long for a finished task, high enough that polling costs nothing. */
export const LEGACY_POLL_INTERVAL_MS = 1000;

/** On the wire ttl counts from creation, retention from the end: what a client computes from a finished task is when it is gone. */
export function ttlFromCreation(task: TaskRecord | TaskSummary): number {
  const { finishedAt } = task as TaskSummary;
  return finishedAt === undefined ? task.ttlMs : finishedAt - task.createdAt + task.ttlMs;
}

/** How the record shows in a dialect, where that differs from what is stored. */
export interface Shown {
  status: TaskStatus;
  statusMessage: string | undefined;
}

/** The task as 2025-11-25 describes it (`Task`). */
export function legacyTask(task: TaskRecord | TaskSummary, { status, statusMessage }: Shown): JsonObject {
  const wire: JsonObject = { taskId: task.taskId, status };
  if (statusMessage !== undefined) wire.statusMessage = boundedText(statusMessage);
  wire.createdAt = isoInstant(task.createdAt);
  wire.lastUpdatedAt = isoInstant(task.lastUpdatedAt);
  wire.ttl = ttlFromCreation(task);
  if (!isTerminalStatus(status)) wire.pollInterval = task.pollIntervalMs ?? LEGACY_POLL_INTERVAL_MS;
  return wire;
}

/** The same with what `tasks/get` may show beside it. */
export function legacyGot(task: TaskRecord, shown: Shown, options: GetOptions): JsonObject {
  const wire = legacyTask(task, shown);
  const meta: JsonObject = {};
  if (task.progress !== undefined) meta[PROGRESS_META] = { ...task.progress };
  if (options.partialOutput === true) meta[PARTIAL_OUTPUT_META] = partialOutputOf(task) ?? [];
  return Object.keys(meta).length > 0 ? withMeta(wire, meta) : wire;
}

/** A page of `tasks/list`. */
export function legacyList(
  { tasks, nextCursor }: TaskPage,
  shownOf: (task: TaskRecord | TaskSummary) => Shown,
): JsonObject {
  const list: JsonObject = { tasks: tasks.map((task) => legacyTask(task, shownOf(task))) };
  if (nextCursor !== undefined) list.nextCursor = nextCursor;
  return list;
}

/** Why a cancelled task without output has no result. */
export function cancelledEmpty(): Fault {
  return { code: "no_result", message: "The task was cancelled and had produced nothing: it has no result." };
}
