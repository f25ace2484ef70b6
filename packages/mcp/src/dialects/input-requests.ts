/** What a task asks, as a client of 2026-07-28 is shown it (SEP-2322, `inputRequests`): it answers under the same keys. */
import { type JsonObject, outstandingQuestions, type TaskRecord } from "@claimcheck/core";

/** The outstanding questions by key. */
export function inputRequests(task: TaskRecord): JsonObject {
  const questions = outstandingQuestions(task).map(({ key, method, params }) => [key, { method, params }] as const);
  return Object.fromEntries(questions);
}
