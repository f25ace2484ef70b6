/**
 * The plain tools by which a client that knows nothing of tasks gets at them. Each answers what it has to say as a
 * tool result, refusals included: a model reads results, and seldom errors of the protocol.
 */
import { isTerminal, type JsonObject, outstandingQuestions, type TaskRecord } from "@claimcheck/core";
import { type CallToolResult, fromJsonSchema, type ServerContext } from "@modelcontextprotocol/server";
import type { Binding } from "../binding.js";
import { type Answer, type Fault, identityRequired, noSuchTask } from "../dialects/dialect.js";
import { thrownResult } from "../dialects/tool-result.js";
import { checkAnswer } from "../questions/answer.js";
import { ELICIT } from "../questions/question.js";
import { giveAnswers } from "../questions/take-answer.js";
import { wrap } from "../tools/outcome.js";
import { wireError } from "../wire/error-map.js";
import { inputResponsesOf, MAX_TASK_ID_LENGTH } from "../wire/request.js";
import { type Attendant, attend, attendantOf } from "./attend.js";
import { handle, shownTask } from "./handle.js";

/** What a tool works with. */
interface Asked {
  binding: Binding;
  attendant: Attendant;
  owner: string;
  args: JsonObject;
  /** What the client answers to what it was asked in the round before. */
  responses: JsonObject;
}

interface TaskTool {
  title: string;
  description: string;
  properties: JsonObject;
  required: string[];
  readOnly: boolean;
  run(asked: Asked): Promise<Answer>;
}

const TASK_ID = { type: "string", description: "The task's id, as an earlier answer gave it." };

/** How long `task_result` waits when the call does not say: clients made with the TypeScript SDK give a call up after 60 s. */
const WAIT_SECONDS = 50;
const MAX_WAIT_SECONDS = 600;

const TASK_TOOLS: Readonly<Record<string, TaskTool>> = {
  task_list: {
    title: "List tasks",
    description:
      "Lists your tasks, newest first: calls whose work goes on, or has ended not long ago. For a task id that was lost.",
    properties: { cursor: { type: "string", description: "Where an earlier listing ended (its nextCursor)." } },
    required: [],
    readOnly: true,
    run: list,
  },
  task_status: {
    title: "Task status",
    description:
      "Says at once how a task stands, with what it has produced so far. To wait for its end use task_result.",
    properties: { task_id: TASK_ID },
    required: ["task_id"],
    readOnly: true,
    run: status,
  },
  task_result: {
    title: "Task result",
    description:
      "Waits for a task and answers what its tool answers, as soon as it is there; what is not there in time answers how the task stands, and may be called for again. The work is not run again.",
    properties: {
      task_id: TASK_ID,
      wait_seconds: {
        type: "number",
        minimum: 0,
        maximum: MAX_WAIT_SECONDS,
        description: `How long to wait. Default ${WAIT_SECONDS}; 0 does not wait.`,
      },
    },
    required: ["task_id"],
    readOnly: true,
    run: result,
  },
  task_cancel: {
    title: "Cancel task",
    description: "Stops a task's work, and answers what it had produced until then.",
    properties: { task_id: TASK_ID },
    required: ["task_id"],
    readOnly: false,
    run: cancel,
  },
  task_answer: {
    title: "Answer a task's question",
    description:
      "Passes on a person's answer to a question that a task waits with. Ask the person; do not make an answer up. Then wait by task_result.",
    properties: {
      task_id: TASK_ID,
      question: { type: "string", description: "Which question: its name in the task's questions." },
      action: {
        type: "string",
        enum: ["accept", "decline", "cancel"],
        description: "What the person did. Default: accept.",
      },
      content: {
        type: "object",
        description: "Of an accepted form: what was filled in, by the question's requestedSchema.",
      },
    },
    required: ["task_id", "question"],
    readOnly: false,
    run: answer,
  },
};

type InputSchema = ReturnType<typeof fromJsonSchema<JsonObject>>;

/** By tool. One for all servers, of which every request may have its own: the SDK compiles a schema to code and keeps it for ever. */
const inputSchemas = new Map<TaskTool, InputSchema>();

function inputSchemaOf(tool: TaskTool): InputSchema {
  const { properties, required } = tool;
  const schema =
    inputSchemas.get(tool) ?? fromJsonSchema<JsonObject>({ type: "object", properties, required } as never);
  inputSchemas.set(tool, schema);
  return schema;
}

/** Registers the tools on a server; they are the binding's for as long as the server lives. */
export function registerTaskTools(binding: Binding): void {
  for (const [name, tool] of Object.entries(TASK_TOOLS)) {
    const { title, description, readOnly, run } = tool;
    const inputSchema = inputSchemaOf(tool);
    const annotations = { readOnlyHint: readOnly, openWorldHint: false };
    binding.mcp.registerTool(name, { title, description, inputSchema, annotations }, (args, context) =>
      toolResult(binding, args, context, run),
    );
  }
}

async function toolResult(
  binding: Binding,
  args: JsonObject,
  context: ServerContext,
  run: TaskTool["run"],
): Promise<CallToolResult> {
  const attendant = attendantOf(binding, context);
  if (attendant === null) return asResult({ fault: identityRequired() });
  const { owner } = attendant.identity;
  try {
    return asResult(await run({ binding, attendant, owner, args, responses: inputResponsesOf(context.mcpReq) }));
  } catch (error) {
    if (attendant.signal.aborted) throw error;
    return asResult({ fault: binding.faultOf(error) });
  }
}

/** An error of the protocol as a result that says so. */
function asResult(answered: Answer): CallToolResult {
  if ("result" in answered) return answered.result as CallToolResult;
  const { code, message, data } = "raised" in answered ? answered.raised : wireError(answered.fault);
  const error: JsonObject = data === undefined ? { code, message } : { code, message, data };
  return { ...thrownResult(message), structuredContent: { error } } as unknown as CallToolResult;
}

async function list({ binding, owner, args }: Asked): Promise<Answer> {
  const { runtime } = binding.shared;
  runtime.polls.check(owner);
  runtime.polls.spend(owner);
  const { cursor } = args;
  const { tasks, nextCursor } = await runtime.list(owner, typeof cursor === "string" ? { cursor } : {});
  const page: JsonObject = { tasks: tasks.map(shownTask) };
  if (nextCursor !== undefined) page.nextCursor = nextCursor;
  return { result: wrap(page) };
}

async function status(asked: Asked): Promise<Answer> {
  const task = await polled(asked);
  return task === null ? NO_SUCH_TASK : { result: handle(task) };
}

async function result(asked: Asked): Promise<Answer> {
  const { binding, attendant, args } = asked;
  const { wait_seconds: waitSeconds } = args;
  const windowMs = 1000 * (typeof waitSeconds === "number" ? waitSeconds : WAIT_SECONDS);
  const task = await polled(asked);
  if (task === null) return NO_SUCH_TASK;
  const refused = await giveAnswers(binding.shared.runtime, task, asked.responses);
  if (refused !== undefined) return { fault: { code: "invalid_answer", message: refused } };
  return (await attend(binding.shared, task.taskId, attendant, windowMs)) ?? NO_SUCH_TASK;
}

async function cancel({ binding, owner, args }: Asked): Promise<Answer> {
  const cancelled = await binding.shared.runtime.cancel(owner, taskIdOf(args));
  return cancelled === null ? NO_SUCH_TASK : { result: handle(cancelled.task) };
}

async function answer(asked: Asked): Promise<Answer> {
  const { binding, owner, args } = asked;
  const task = await polled(asked);
  if (task === null) return NO_SUCH_TASK;
  const open = outstandingQuestions(task);
  const question = open.find(({ key }) => key === args.question);
  if (question === undefined)
    return {
      fault: notAsked(
        args.question,
        open.map(({ key }) => key),
      ),
    };
  if (question.method !== ELICIT) {
    return {
      fault: { code: "invalid_answer", message: `${question.key} is not for a person to answer (${question.method}).` },
    };
  }
  const { action = "accept", content } = args;
  const checked = checkAnswer(question, content === undefined ? { action } : { action, content });
  if ("refused" in checked) {
    return {
      fault: { code: "invalid_answer", message: `The answer to ${question.key} is refused: ${checked.refused}.` },
    };
  }
  await binding.shared.runtime.answer(owner, task.taskId, question.key, checked.answer);
  const now = await binding.shared.runtime.get(owner, task.taskId);
  return now === null ? NO_SUCH_TASK : { result: handle(now) };
}

function notAsked(question: unknown, open: readonly string[]): Fault {
  const asked = open.length === 0 ? "Nothing is asked" : `What is asked: ${open.join(", ")}`;
  return { code: "invalid_answer", message: `No question ${JSON.stringify(question)} waits for an answer. ${asked}.` };
}

const NO_SUCH_TASK: Answer = { fault: noSuchTask() };

/** The task that is asked about, counted as a question in vain while it has not ended. */
async function polled({ binding, owner, args }: Asked): Promise<TaskRecord | null> {
  const { runtime } = binding.shared;
  runtime.polls.check(owner);
  const task = await runtime.get(owner, taskIdOf(args));
  if (task === null || !isTerminal(task)) runtime.polls.spend(owner);
  return task;
}

/** Ids longer than any of ours are looked up under a name that nothing has. */
function taskIdOf({ task_id: taskId }: JsonObject): string {
  return typeof taskId === "string" && taskId.length <= MAX_TASK_ID_LENGTH ? taskId : "";
}
