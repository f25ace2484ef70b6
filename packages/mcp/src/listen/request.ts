/**
 * The part of a `subscriptions/listen` request that is the tasks extension's: `params.notifications.taskIds` (SEP-2663,
 * "Task Status Notifications"). The SDK knows the core's filters only, so it is sent the request without that member.
 */
import type { JsonObject, JsonValue } from "@claimcheck/core";
import type { RequestId } from "@modelcontextprotocol/server";
import { type Fault, TASKS_EXTENSION } from "../dialects/dialect.js";
import { extensionRequired } from "../dialects/extension-2026-07-28.js";
import { asObject, declarationOf2026, isOf2026, MAX_TASK_ID_LENGTH } from "../wire/request.js";

const LISTEN = "subscriptions/listen";

export interface ListenRequest {
  id: RequestId;
  /** As they were sent, whatever that is. */
  taskIds: JsonValue;
  meta: JsonObject;
  /** The request as the SDK is to see it. */
  rest: JsonObject;
}

/** `message` as a request to listen for tasks; `undefined` when it names none, or is not of the era that has them. */
export function listenRequestOf(message: unknown): ListenRequest | undefined {
  const request = asObject(message);
  if (request?.method !== LISTEN || !isRequestId(request.id)) return undefined;
  const params = asObject(request.params);
  const filter = asObject(params?.notifications);
  const meta = asObject(params?._meta);
  const taskIds = filter?.taskIds;
  if (taskIds === undefined || taskIds === null || !isOf2026(meta)) return undefined;
  const { taskIds: _, ...notifications } = filter as JsonObject;
  return { id: request.id, taskIds, meta, rest: { ...request, params: { ...params, notifications } } };
}

/** The ids that are asked for, each once, or why there is no answer to that. Nothing is looked up for it. */
export function askedTaskIds({ taskIds, meta }: ListenRequest): string[] | Fault {
  if (!declarationOf2026(meta).extensions.has(TASKS_EXTENSION)) return extensionRequired(`${LISTEN} with taskIds`);
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    return {
      code: "invalid_params",
      message: "notifications.taskIds must be an array of task ids, which are strings.",
    };
  }
  return [...new Set(taskIds as string[])].filter((id) => id.length <= MAX_TASK_ID_LENGTH);
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
