/** Answers, checked against what was asked before anything is told to the tool. */
import { type JsonObject, outstandingQuestions, type TaskRecord } from "@claimcheck/core";
import { type StandardSchemaV1, specTypeSchemas } from "@modelcontextprotocol/server";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
import { describeIssues } from "../tools/outcome.js";
import { asObject } from "../wire/request.js";
import { ELICIT, LIST_ROOTS, SAMPLE } from "./question.js";

/** The SDK's own validator compiles every schema to code and keeps it; a question's schema is used once. */
const schemas = new CfWorkerJsonSchemaValidator();

export type Checked = { answer: JsonObject } | { refused: string };

/** The answer as the tool gets it, or why it is none. */
export function checkAnswer({ method, params }: { method: string; params: JsonObject }, answer: unknown): Checked {
  switch (method) {
    case ELICIT:
      return checkElicited(params, answer);
    case SAMPLE:
      return ofType(
        specTypeSchemas[params.tools === undefined ? "CreateMessageResult" : "CreateMessageResultWithTools"],
        answer,
      );
    case LIST_ROOTS:
      return ofType(specTypeSchemas.ListRootsResult, answer);
    default: {
      const object = asObject(answer);
      return object === undefined ? { refused: "it must be an object" } : { answer: object };
    }
  }
}

/**
 * The answers to the task's outstanding questions among `responses`; the rest is ignored.
 * @param dropped keys whose response was so malformed that it is not even there
 */
export function checkAnswers(
  task: TaskRecord,
  responses: JsonObject,
  dropped: readonly string[] = [],
): { answers: [key: string, answer: JsonObject][] } | { refused: string } {
  const answers: [string, JsonObject][] = [];
  for (const question of outstandingQuestions(task)) {
    const { key } = question;
    if (!Object.hasOwn(responses, key) && !dropped.includes(key)) continue;
    const checked = checkAnswer(question, responses[key]);
    if ("refused" in checked) return { refused: `The answer to ${key} is refused: ${checked.refused}.` };
    answers.push([key, checked.answer]);
  }
  return { answers };
}

function checkElicited(params: JsonObject, given: unknown): Checked {
  const checked = ofType(specTypeSchemas.ElicitResult, given);
  if ("refused" in checked) return checked;
  const { action, content } = checked.answer;
  if (action !== "accept") return { answer: { action: action as string } };
  if (params.mode === "url") return { answer: { action } };
  return checkContent(params.requestedSchema, content ?? {});
}

function checkContent(schema: unknown, content: unknown): Checked {
  const described = asObject(schema);
  if (described !== undefined) {
    // The validator writes into the schema, which the record keeps as it is.
    const { valid, errorMessage } = schemas.getValidator(structuredClone(described))(content);
    if (!valid) return { refused: `its content does not match the requested schema: ${errorMessage}` };
  }
  return { answer: { action: "accept", content: content as JsonObject } };
}

function ofType(schema: StandardSchemaV1, value: unknown): Checked {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) throw new TypeError("the SDK's schemas validate at once");
  if (result.issues !== undefined) return { refused: describeIssues(result.issues) };
  return { answer: value as JsonObject };
}
