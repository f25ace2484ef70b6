/** How a handler's questions reach a person: through its task, or through the call that it answers. */
import { type JsonObject, type QuestionRequest, QuestionWithdrawnError, type ToolContext } from "@claimcheck/core";
import { asObject } from "../wire/request.js";
import { lackingCapability } from "./client-capabilities.js";

/** Asks one question. */
export interface Asker {
  /**
   * Waits for the answer, which has been checked.
   * @throws QuestionWithdrawnError, QuestionRefusedError
   */
  ask(question: QuestionRequest): Promise<JsonObject>;
}

/** The question could not be put to anybody, or the client answered it with an error. Not what a person said: that is `decline`. */
export class QuestionRefusedError extends Error {
  override readonly name = "QuestionRefusedError";
}

/** The member of a stored answer that says that the client answered with an error. */
const FAILED = "io.datalayer/failed";

/** What is stored as the answer where a client could not give one, so that the tool hears of it in whichever process it waits. */
export function failedAnswer(why: string): JsonObject {
  return { [FAILED]: why };
}

/** Asks through the task's record, where any connection of its owner may answer. */
export function taskAsker({ task, request }: ToolContext): Asker {
  return {
    ask: async (question) => {
      if (task === null) throw new QuestionWithdrawnError("task_ended");
      refuseUndeclared(question, asObject(request.clientCapabilities));
      const answer = await task.ask(question);
      if (typeof answer[FAILED] === "string") throw new QuestionRefusedError(answer[FAILED]);
      return answer;
    },
  };
}

/** @throws QuestionRefusedError when the client did not declare that it can be asked so */
export function refuseUndeclared(question: QuestionRequest, capabilities: JsonObject | undefined): void {
  const lacking = lackingCapability(question, capabilities);
  if (lacking === null) return;
  throw new QuestionRefusedError(
    `The client cannot be asked (${question.method}): it did not declare the capability ${JSON.stringify(lacking)}.`,
  );
}
