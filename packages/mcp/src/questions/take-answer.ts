/** Answers that 2025-era clients give as responses to requests of ours. */
import { type JsonObject, outstandingQuestions, type TaskRuntime } from "@claimcheck/core";
import { asObject } from "../request.js";
import { checkAnswer } from "./answer.js";
import { failedAnswer } from "./asker.js";
import { type Deliveries, questionOfId } from "./delivery.js";

/** A JSON-RPC response as far as it matters here. */
export interface ClientResponse {
  id?: unknown;
  result?: unknown;
  error?: unknown;
}

/** `message` if it is a response to a question of ours. */
export function asAnswer(message: unknown): ClientResponse | undefined {
  const response = asObject(message);
  if (response === undefined || "method" in response) return undefined;
  return questionOfId(response.id) === undefined ? undefined : response;
}

/**
 * Gives the answer to the question that the response's id names, if the owner has such a task and it is still asked.
 * What a response's metadata says of tasks decides nothing. An error and an answer that does not fit are told to the tool:
 * unlike `tasks/update`, a response cannot be refused.
 */
export async function takeAnswer(
  { runtime, deliveries }: { runtime: TaskRuntime; deliveries: Deliveries },
  owner: string,
  response: ClientResponse,
): Promise<void> {
  const named = questionOfId(response.id);
  if (named === undefined) return;
  const { taskId, key } = named;
  const task = await runtime.get(owner, taskId);
  const question = task === null ? undefined : outstandingQuestions(task).find((asked) => asked.key === key);
  if (question === undefined) return;
  deliveries.answered(taskId, response.id as string);
  await runtime.answer(owner, taskId, key, answerOf(question, response));
}

function answerOf(question: { method: string; params: JsonObject }, { result, error }: ClientResponse): JsonObject {
  if (error !== undefined) return failedAnswer(`The client answered with an error: ${errorText(error)}`);
  const checked = checkAnswer(question, result);
  return "answer" in checked ? checked.answer : failedAnswer(`The client's answer is refused: ${checked.refused}.`);
}

const MAX_ERROR_TEXT = 500;

function errorText(error: unknown): string {
  const message = asObject(error)?.message;
  return typeof message === "string" ? message.slice(0, MAX_ERROR_TEXT) : "it gave no reason.";
}
