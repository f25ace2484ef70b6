/** The context of a tool's handler: the runtime's, and beside it what only MCP has. */
import type {
  CancelToken,
  JsonObject,
  Log,
  ToolContext as RuntimeContext,
  SendProgress,
  TaskHandle,
} from "@claimcheck/core";
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { asLogLevel, noLogLevel } from "../logging.js";
import { describeIssues } from "../tools/outcome.js";
import { readableRequest } from "../wire/request.js";
import { type Asker, QuestionRefusedError } from "./asker.js";
import {
  elicitation,
  type FormQuestion,
  isStandard,
  listRoots,
  type Patience,
  sampling,
  type UrlQuestion,
} from "./question.js";

/** What a person said to a form of {@link ToolContext.elicit}. */
export type Elicited<Content = JsonObject> =
  | { action: "accept"; content: Content }
  | { action: "decline" }
  | { action: "cancel" };

/** The content that a form's schema promises. */
export type ElicitedContent<Schema> = Schema extends StandardSchemaWithJSON
  ? StandardSchemaWithJSON.InferOutput<Schema>
  : JsonObject;

/** The one object a handler gets, on a direct call as on a task, in every dialect. */
export interface ToolContext extends RuntimeContext {
  /**
   * Tells the caller, as an MCP log message, if it wants to hear that level: a client of 2025 from the level that it has set,
   * everything until then; one of 2026-07-28 that asked for it in the call, until that is answered. At once or never, and
   * never to the server's own log. Answers `false` when nobody hears it, and for data that are longer than 64 KiB as JSON.
   *
   * @throws TypeError for a level that is none
   */
  readonly log: Log;
  /** What the caller answered to the tool's `askFirst`, by the names that it gave; empty where it asked nothing. */
  readonly answers: Readonly<Record<string, JsonObject>>;
  /**
   * Asks a person to fill in a form, or to open a page, and waits for the answer. In a task the question is in its record:
   * it can be answered from any connection of its owner, and outlives a restart with the task. Waiting is no run time.
   *
   * @throws QuestionRefusedError when the client did not declare that it can be asked so, or answered with an error
   * @throws QuestionWithdrawnError when nobody answered within `timeoutMs`, or the call ended first
   */
  elicit<Schema extends FormQuestion["requestedSchema"]>(
    question: FormQuestion & { requestedSchema: Schema },
  ): Promise<Elicited<ElicitedContent<Schema>>>;
  elicit(question: UrlQuestion): Promise<Pick<Elicited, "action">>;
  /** Asks the client's model (`sampling/createMessage`). Throws as {@link elicit} does. */
  sample(params: JsonObject, patience?: Patience): Promise<JsonObject>;
  /** Asks which folders the client works in (`roots/list`). Throws as {@link elicit} does. */
  listRoots(patience?: Patience): Promise<JsonObject>;
}

/** A handler gets one per call: its members are the runtime's, read when they are asked for. */
export class HandlerContext implements ToolContext {
  readonly #runtime: RuntimeContext;
  readonly #asker: Asker;
  readonly answers: Readonly<Record<string, JsonObject>>;

  constructor(runtime: RuntimeContext, asker: Asker, answers: Readonly<Record<string, JsonObject>>) {
    this.#runtime = runtime;
    this.#asker = asker;
    this.answers = answers;
  }

  get signal(): AbortSignal {
    return this.#runtime.signal;
  }

  get cancelToken(): CancelToken {
    return this.#runtime.cancelToken;
  }

  get task(): TaskHandle | null {
    return this.#runtime.task;
  }

  get sendProgress(): SendProgress {
    return this.#runtime.sendProgress;
  }

  get log(): Log {
    return (level, data, logger) => {
      if (asLogLevel(level) === undefined) throw new TypeError(noLogLevel(level));
      return this.#runtime.log(level, data, logger);
    };
  }

  get request(): JsonObject {
    return readableRequest(this.#runtime.request);
  }

  get input(): unknown {
    return this.#runtime.input;
  }

  // Getters of functions: a handler may take its context apart, and most never ask.
  get elicit(): ToolContext["elicit"] {
    return async (question: FormQuestion | UrlQuestion): Promise<never> => {
      const answer = await this.#asker.ask(elicitation(question));
      if ("url" in question || !isStandard(question.requestedSchema)) return answer as never;
      return (await parsed(answer, question.requestedSchema)) as never;
    };
  }

  get sample(): ToolContext["sample"] {
    return async (params, patience = {}) => this.#asker.ask(sampling(params, patience));
  }

  get listRoots(): ToolContext["listRoots"] {
    return async (patience = {}) => this.#asker.ask(listRoots(patience));
  }
}

/** The content as the author's schema makes it; JSON Schema, by which it was checked, cannot say all that one can. */
async function parsed(answer: JsonObject, schema: StandardSchemaWithJSON): Promise<unknown> {
  if (answer.action !== "accept") return answer;
  const checked = await schema["~standard"].validate(answer.content);
  if (checked.issues !== undefined) {
    throw new QuestionRefusedError(`The answer does not match the requested schema: ${describeIssues(checked.issues)}`);
  }
  return { action: "accept", content: checked.value };
}
