/** Answers that 2025-era clients give as responses to requests of ours. */
import {
  isTaskError,
  type JsonObject,
  outstandingQuestions,
  type TaskRecord,
  type TaskRuntime,
} from "@claimcheck/core";
import { asObject } from "../wire/request.js";
import { checkAnswer, checkAnswers } from "./answer.js";
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
  try {
    await runtime.answer(owner, taskId, key, answerOf(question, response));
  } catch (error) {
    if (!isTaskError(error) || error.code !== "too_large") throw error;
    await runtime.answer(owner, taskId, key, TOO_LARGE);
  }
}

/**
 * Gives what of `responses` answers the task's outstanding questions: all that is there, or nothing when one of them is no
 * answer. Unknown and answered keys are ignored.
 *
 * @param dropped keys whose response was so malformed that it is not even there
 * @returns why they are refused, if they are
 * @throws TaskError `too_large` when the task may not keep them; none is taken then
 */
export async function giveAnswers(
  runtime: TaskRuntime,
  task: TaskRecord,
  responses: JsonObject,
  dropped?: readonly string[],
): Promise<string | undefined> {
  const checked = checkAnswers(task, responses, dropped);
  if ("refused" in checked) return checked.refused;
  runtime.assertRoomFor(task, checked.answers);
  for (const [key, answer] of checked.answers) await runtime.answer(task.owner, task.taskId, key, answer);
  return undefined;
}

function answerOf(question: { method: string; params: JsonObject }, { result, error }: ClientResponse): JsonObject {
  if (error !== undefined) return failedAnswer(`The client answered with an error: ${errorText(error)}`);
  const checked = checkAnswer(question, result);
  return "answer" in checked ? checked.answer : failedAnswer(`The client's answer is refused: ${checked.refused}.`);
}

const TOO_LARGE = failedAnswer(
  "The client's answer is refused: it has more bytes than the task may keep (maxQuestionsBytes).",
);

const MAX_ERROR_TEXT = 500;

function errorText(error: unknown): string {
  const message = asObject(error)?.message;
  return typeof message === "string" ? message.slice(0, MAX_ERROR_TEXT) : "it gave no reason.";
}
