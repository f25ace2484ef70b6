/**
 * What a client without tasks is shown of one: how it stands, what it has produced so far, and which plain tool goes on
 * from there. A tool result like any other; its task is the `Task` object of 2025-11-25.
 */
import {
  isTerminal,
  type JsonObject,
  outstandingQuestions,
  type Question,
  type TaskRecord,
  type TaskSummary,
} from "@claimcheck/core";
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { legacyTask } from "../dialects/legacy-task.js";
import { partialOutputOf, partialResult, textsOf } from "../dialects/tool-result.js";
import { ELICIT } from "../questions/question.js";
import type { ShownConfig } from "../tools/config.js";
import { asObject } from "../wire/request.js";

/** The state of the task as a tool result. */
export function handle(task: TaskRecord): JsonObject {
  const { content } = partialResult(partialOutputOf(task) ?? []) as { content: JsonObject[] };
  const next = nextStep(task);
  const structuredContent: JsonObject = { task: shownTask(task), output: textsOf(content).join("\n"), next };
  if (task.progress !== undefined && !isTerminal(task)) structuredContent.progress = { ...task.progress };
  const questions = outstandingQuestions(task);
  if (questions.length > 0) structuredContent.questions = questions.map(shownQuestion);
  return { content: [...content, { type: "text", text: `[${next}]` }], structuredContent };
}

/** The task as the plain tools show it. */
export function shownTask(task: TaskRecord | TaskSummary): JsonObject {
  const shown = { status: task.status, statusMessage: task.statusMessage };
  return { ...legacyTask(task, shown), tool: task.toolName };
}

function nextStep(task: TaskRecord): string {
  const { taskId } = task;
  const questions = outstandingQuestions(task);
  if (isTerminal(task)) return `Task ${taskId} has ended (${task.status}). Get its result by task_result.`;
  if (questions.length === 0) {
    return `Not done yet; the work goes on as task ${taskId}. Wait for it by task_result, look at it by task_status, stop it by task_cancel.`;
  }
  const asked = questions.map(({ key, params }) => `${key}: ${params.message ?? ""}`).join(" / ");
  return `Task ${taskId} waits for an answer (${asked}). Ask the person, pass on what they say by task_answer, then wait by task_result.`;
}

/** What is asked, as far as an answer depends on it. */
function shownQuestion({ key, method, params }: Question): JsonObject {
  if (method !== ELICIT) return { question: key, method };
  const { message, url, requestedSchema } = params;
  const shown: JsonObject = { question: key };
  if (message !== undefined) shown.message = message;
  if (url !== undefined) shown.url = url;
  if (requestedSchema !== undefined) shown.requestedSchema = requestedSchema;
  return shown;
}

const TEXT = { type: "string" };

/** What every handle matches. */
const HANDLE_SCHEMA = {
  type: "object",
  description: "The call took longer than its limit, and its work goes on as a task.",
  properties: {
    task: { type: "object", properties: { taskId: TEXT, status: TEXT }, required: ["taskId", "status"] },
    output: { ...TEXT, description: "What the work has produced so far." },
    next: { ...TEXT, description: "How to go on." },
  },
  required: ["task", "output", "next"],
};

function isHandle(value: unknown): boolean {
  const { task, next } = asObject(value) ?? {};
  return typeof asObject(task)?.taskId === "string" && typeof next === "string";
}

/** The declaration of a tool whose calls may answer a handle, as clients are shown it. */
export function promotable(shown: ShownConfig): ShownConfig {
  const { description, outputSchema } = shown;
  const hinted = { ...shown, description: description === undefined ? HINT : `${description}\n\n${HINT}` };
  return outputSchema === undefined ? hinted : { ...hinted, outputSchema: orHandle(outputSchema) };
}

const HINT =
  "A call that takes long is answered with its output so far and the id of a task as which the work goes on: do not call again, collect it by task_result.";

/**
 * The output schema of a tool whose calls may answer a handle: clients check `structuredContent` against what was
 * listed, so it has to allow for one. What the tool itself returns is checked against its own schema before.
 */
function orHandle(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const { jsonSchema, validate } = schema["~standard"];
  return {
    "~standard": {
      version: 1,
      vendor: "claimcheck",
      validate: (value) => (isHandle(value) ? { value } : validate(value)),
      jsonSchema: {
        input: (options) => eitherOf(jsonSchema.input(options)),
        output: (options) => eitherOf(jsonSchema.output(options)),
      },
    },
  };
}

/** References within a schema count from its root: what they mean has to stay there. */
function eitherOf({ $schema, $defs, definitions, ...own }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...($schema !== undefined && { $schema }),
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
    anyOf: [own, HANDLE_SCHEMA],
  };
}
