/**
 * How large what tools and callers hand in may be where it is kept. What is larger is refused before anything is changed,
 * by an error that says how much it is, how much may be, and which option of the runtime says so. Outputs are cut instead
 * (`output.ts`), and a result ends its task (`handler-outcome.ts`): there is nobody left to be refused.
 */
import { TaskError } from "./errors.js";
import type { JsonObject, JsonValue } from "./json.js";
import { textOfThrown } from "./logger.js";
import type { Question } from "./task.js";

/** Bytes of JSON in UTF-8. `Infinity` is no limit. */
export interface SizeLimits {
  /** Larger arguments are refused. Default: 4 MiB. */
  maxArgumentsBytes: number;
  /** What is kept of the creating request (principal, client, headers, answers to `askFirst`) with more is refused. Default: 256 KiB. */
  maxKeptRequestBytes: number;
  /** A larger result ends its task as failed. Default: 64 MiB. */
  maxResultBytes: number;
  /** Partial output beyond this loses its middle. Default: 1 MiB. */
  maxOutputBytes: number;
  /** A larger checkpoint is refused, and the last one stays. Default: 1 MiB. */
  maxCheckpointBytes: number;
  /** A question, or an answer, with which all of one task would have more is refused; an open one counts with 200 bytes for its answer. Default: 4 MiB. */
  maxQuestionsBytes: number;
}

/** A checkpoint and the questions are written, and a checkpoint is read, with moves that lease renewals wait behind. */
export const DEFAULT_SIZE_LIMITS: Readonly<SizeLimits> = {
  maxArgumentsBytes: 4 * 1024 * 1024,
  maxKeptRequestBytes: 256 * 1024,
  maxResultBytes: 64 * 1024 * 1024,
  maxOutputBytes: 1024 * 1024,
  maxCheckpointBytes: 1024 * 1024,
  maxQuestionsBytes: 4 * 1024 * 1024,
};

/** @throws TaskError `too_large`; TypeError for what JSON cannot carry */
export function assertCheckpoint(checkpoint: JsonValue, max: number): void {
  const bytes = bytesOf("The checkpoint", checkpoint);
  if (bytes <= max) return;
  const advice = "The one before it stays. Keep what says where to go on, or raise the limit.";
  throw tooLarge("The checkpoint has", { bytes, limit: "maxCheckpointBytes", max }, advice);
}

/** @throws TaskError `too_large`; TypeError for what JSON cannot carry */
export function assertKeptRequest(request: JsonObject, max: number): void {
  const what = "What is kept of the request (principal, client, headers, first answers)";
  const bytes = bytesOf(what, request);
  if (bytes <= max) return;
  throw tooLarge(`${what} has`, { bytes, limit: "maxKeptRequestBytes", max }, "Send less of it.");
}

/**
 * What an open question keeps free for its answer: a refusal has less. Nothing could be said to a question that took the last
 * byte itself, and its task would wait for ever.
 */
const ROOM_FOR_ANSWER = "x".repeat(200);

/** Whether a task may keep `questions`, their answers included. */
export function mayKeep(questions: readonly Question[], max: number): boolean {
  return max === Number.POSITIVE_INFINITY || bytesWithAnswers("The question", questions) <= max;
}

function bytesWithAnswers(what: string, questions: readonly Question[]): number {
  const isOpen = ({ answer, withdrawnAt }: Question): boolean => answer === undefined && withdrawnAt === undefined;
  return bytesOf(
    what,
    questions.map((asked) => (isOpen(asked) ? { ...asked, answer: ROOM_FOR_ANSWER } : asked)),
  );
}

/** What the tool hears of a question that its task may not keep. */
export function questionTooLarge(asked: readonly Question[], question: Question, max: number): TaskError {
  const bytes = bytesWithAnswers("The question", [...asked, question]);
  const what = "With this question those of the task, and their answers, have";
  return tooLarge(what, { bytes, limit: "maxQuestionsBytes", max }, "Ask for less at a time, or raise the limit.");
}

/** Answers by the keys of their questions. */
export type GivenAnswers = readonly (readonly [key: string, answer: JsonObject])[];

/**
 * Refuses answers that the task may not keep.
 *
 * @throws TaskError `too_large`
 */
export function assertAnswers(asked: readonly Question[], answers: GivenAnswers, max: number): void {
  const given = new Map(answers);
  const answered = asked.map((question) => {
    const answer = given.get(question.key);
    return answer === undefined ? question : { ...question, answer };
  });
  const bytes = bytesWithAnswers("The answer", answered);
  if (bytes <= max) return;
  const what = "With this answer the questions of the task, and their answers, have";
  throw tooLarge(what, { bytes, limit: "maxQuestionsBytes", max }, "The question stays open: give a shorter answer.");
}

interface Excess {
  bytes: number;
  limit: keyof SizeLimits;
  max: number;
}

function tooLarge(what: string, excess: Excess, advice: string): TaskError {
  const { bytes, limit, max } = excess;
  const message = `${what} ${bytes} bytes as JSON; at most ${max} are kept (${limit}). ${advice}`;
  return new TaskError("too_large", message, { data: { ...excess } });
}

function bytesOf(what: string, value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch (cause) {
    throw new TypeError(`${what} cannot be written as JSON: ${textOfThrown(cause)}`, { cause });
  }
}
