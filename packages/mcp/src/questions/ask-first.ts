/**
 * Questions that a tool asks before its work begins (`askFirst`). On 2026-07-28 they go out as rounds of the call itself
 * (SEP-2322), before a task exists; everywhere else the call, or the task, asks them when it begins. Between rounds the
 * server keeps nothing: what was answered so far travels with the client, sealed.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject, QuestionRequest } from "@claimcheck/core";
import { createRequestStateCodec, type RequestStateCodec } from "@modelcontextprotocol/server";
import type { Answer } from "../dialects/dialect.js";
import { checkAnswer } from "./answer.js";
import type { Asker } from "./asker.js";
import { lackingCapability } from "./client-capabilities.js";
import { elicitation, type FormQuestion, type UrlQuestion } from "./question.js";

/** The answers so far, by the names that the tool gave. */
export type Answers = Readonly<Record<string, JsonObject>>;

/** What `askFirst` puts out: questions by name; those that are answered already are not asked again. */
export type FirstQuestions = Readonly<Record<string, FormQuestion | UrlQuestion>>;

/** Says what is still to be asked, from the arguments and the answers so far. */
export type AskFirst<Args = unknown> = (
  args: Args,
  answers: Answers,
) => FirstQuestions | undefined | Promise<FirstQuestions | undefined>;

export const NO_ANSWERS: Answers = {};

type Open = [name: string, question: QuestionRequest][];

async function openQuestions(askFirst: AskFirst, input: unknown, answers: Answers): Promise<Open> {
  const asked = Object.entries((await askFirst(input, answers)) ?? {});
  return asked
    .filter(([name]) => !Object.hasOwn(answers, name))
    .map(([name, question]) => [name, elicitation(question)]);
}

/** Asks everything through `asker`, round after round. */
export async function askAll(askFirst: AskFirst, input: unknown, asker: Asker): Promise<Answers> {
  let answers = NO_ANSWERS;
  for (;;) {
    const open = await openQuestions(askFirst, input, answers);
    if (open.length === 0) return answers;
    const given = await Promise.all(open.map(async ([name, question]) => [name, await asker.ask(question)] as const));
    answers = { ...answers, ...Object.fromEntries(given) };
  }
}

/** One request of a call that asks first. */
export interface Round {
  toolName: string;
  askFirst: AskFirst;
  input: unknown;
  /** Whose call it is: nobody else's answers are taken. */
  owner: string;
  capabilities: JsonObject | undefined;
  inputResponses: JsonObject;
  state: string | undefined;
}

interface Sealed {
  toolName: string;
  owner: string;
  answers: Answers;
}

/** How long a person may take over one round, seconds. */
const STATE_TTL_S = 3600;
const PREFIX = "claimcheck.first.";

/** Whether a `requestState` is of this making. */
export const isFirstState = (state: unknown): state is string => typeof state === "string" && state.startsWith(PREFIX);

export class FirstRounds {
  readonly #codec: RequestStateCodec<Sealed>;

  /** @param key shared by every process that may get a round of one call. Default: this process's own. */
  constructor(key: Uint8Array | string = randomBytes(32)) {
    this.#codec = createRequestStateCodec<Sealed>({ key, ttlSeconds: STATE_TTL_S });
  }

  /** The answers when all are there, else what the call is answered with. */
  async next(round: Round): Promise<{ answers: Answers } | { answer: Answer }> {
    const before = await this.#unseal(round);
    if (before === null) return refused("requestState is not, or no longer, of this call: call again without it.");
    const open = await openQuestions(round.askFirst, round.input, before);
    const answers: Record<string, JsonObject> = { ...before };
    for (const [name, question] of open) {
      if (!Object.hasOwn(round.inputResponses, name)) continue;
      const checked = checkAnswer(question, round.inputResponses[name]);
      if ("refused" in checked) return refused(`The answer to ${JSON.stringify(name)} is refused: ${checked.refused}.`);
      answers[name] = checked.answer;
    }
    const left = await openQuestions(round.askFirst, round.input, answers);
    return left.length === 0 ? { answers } : { answer: await this.#ask(round, left, answers) };
  }

  async #ask({ toolName, owner, capabilities }: Round, open: Open, answers: Answers): Promise<Answer> {
    for (const [, question] of open) {
      const lacking = lackingCapability(question, capabilities);
      if (lacking !== null) return lackingAnswer(toolName, lacking);
    }
    const inputRequests = Object.fromEntries(open.map(([name, { method, params }]) => [name, { method, params }]));
    const result: JsonObject = { resultType: "input_required", inputRequests };
    if (Object.keys(answers).length > 0) {
      result.requestState = `${PREFIX}${await this.#codec.mint({ toolName, owner, answers })}`;
    }
    return { result };
  }

  async #unseal({ state, toolName, owner }: Round): Promise<Answers | null> {
    if (state === undefined) return NO_ANSWERS;
    try {
      // Nothing is bound to the request's context: what the state belongs to is in the state.
      const sealed = await this.#codec.verify(state.slice(PREFIX.length), undefined as never);
      return sealed.toolName === toolName && sealed.owner === owner ? sealed.answers : null;
    } catch {
      return null;
    }
  }
}

function refused(message: string): { answer: Answer } {
  return { answer: { fault: { code: "invalid_answer", message } } };
}

/** A call that cannot be asked what it must be asked (2026-07-28, `MissingRequiredClientCapability`). */
function lackingAnswer(toolName: string, requiredCapabilities: JsonObject): Answer {
  const message = `Tool ${toolName} has to ask its caller: declare the capability in the request's client capabilities.`;
  return { fault: { code: "extension_required", message, data: { requiredCapabilities } } };
}
