/** What a worker thread and the thread that started it say to each other. Calls are counted per thread. */
import {
  CancelledError,
  type JsonObject,
  type JsonValue,
  type LogLevel,
  QuestionWithdrawnError,
  RetryableError,
  TASK_ERRORS,
  TaskError,
  type TaskErrorCode,
  textOfThrown,
} from "@claimcheck/core";
import { ProtocolError } from "@modelcontextprotocol/server";
import { QuestionRefusedError } from "../questions/asker.js";

/** Runs one call. */
export interface CallMessage {
  type: "call";
  call: number;
  module: string;
  exportName: string;
  input: unknown;
  answers: Readonly<Record<string, JsonObject>>;
  request: JsonObject;
  /** Where the handler resumes from. */
  checkpoint: JsonValue | undefined;
  /** `null` of a direct call. */
  taskId: string | null;
}

export type ToThread =
  | CallMessage
  /** The call is cancelled; {@link CANCELLED} has said so to whoever does not listen. */
  | { type: "cancel"; call: number }
  /** Stops, or stops harder, what the call registered under `id`; answered with `interrupted`. */
  | { type: "interrupt"; call: number; id: number; escalate: boolean; answerTo: number }
  /** The answer to a `request`. */
  | { type: "reply"; to: number; value: unknown }
  | { type: "refusal"; to: number; error: ThrownMessage };

/** What of its context a handler waits for: a method of the context or of its task, asked of the thread that has them. */
export type ThreadRequest =
  | { method: "requireInput"; message: string }
  | { method: "setWorking"; message: string | undefined }
  | { method: "checkpoint"; value: JsonValue }
  /** `ofTask`: asked of the task itself, which knows of no client. */
  | { method: "ask"; ofTask: boolean; question: { method: string; params: JsonObject; timeoutMs?: number } };

export type FromThread =
  | { type: "progress"; call: number; current: number; options: { total?: number; message?: string } | undefined }
  | { type: "log"; call: number; level: LogLevel; data: JsonValue; logger: string | undefined }
  /** The outputs are those that were said before up to `from`, then `outputs`. */
  | { type: "output"; call: number; from: number; outputs: readonly JsonValue[] }
  | { type: "interrupt_registered"; call: number; id: number; escalates: boolean }
  | { type: "interrupted"; call: number; to: number; error?: ThrownMessage }
  | { type: "request"; call: number; id: number; request: ThreadRequest }
  /** `json`: the wrapped result. */
  | { type: "returned"; call: number; json: string }
  | { type: "threw"; call: number; error: ThrownMessage }
  /** Thrown outside any call's own way: by a timer, or by a promise that nobody looked at. */
  | { type: "stray"; call: number | undefined; error: ThrownMessage };

/** What both threads share: three numbers, readable while the other side does not listen. */
export type Shared = Int32Array;
export const SHARED_BYTES = 12;
/** How many of the thread's messages have been looked at. */
export const HANDLED = 0;
/** The call that is cancelled; its negative when its task goes on in another process. */
export const CANCELLED = 1;
/** The call that the thread has begun, or has begun last. */
export const BEGUN = 2;

/** Something that was thrown, fit to cross. */
export type ThrownMessage =
  | { value: unknown }
  | {
      name: string;
      message: string;
      stack: string | undefined;
      cause: ThrownMessage | undefined;
      members: Record<string, unknown>;
    };

/** Causes can go round in a circle. */
const MAX_CAUSES = 5;

export function thrownMessage(thrown: unknown, depth = 0): ThrownMessage {
  if (!(thrown instanceof Error)) return { value: plain(thrown) };
  const { name: _name, message: _message, stack: _stack, cause: _cause, ...own } = thrown;
  const members = Object.fromEntries(Object.entries(own).filter(([, value]) => isCloneable(value)));
  const cause = thrown.cause === undefined || depth >= MAX_CAUSES ? undefined : thrownMessage(thrown.cause, depth + 1);
  const name = thrown instanceof ProtocolError ? "ProtocolError" : thrown.name;
  return { name: String(name), message: String(thrown.message), stack: thrown.stack, cause, members };
}

export function thrownOf(said: ThrownMessage): unknown {
  if ("value" in said) return said.value;
  const error = errorNamed(said.name, said.message, said.members);
  for (const [name, value] of Object.entries({ ...said.members, name: said.name }))
    Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: name !== "name" });
  if (said.stack !== undefined) error.stack = said.stack;
  if (said.cause !== undefined) error.cause = thrownOf(said.cause);
  return error;
}

/** What is told apart by its class, here or in a handler, keeps it. */
function errorNamed(name: string, message: string, { reason, code }: Record<string, unknown>): Error {
  switch (name) {
    case "CancelledError":
      return new CancelledError(message);
    case "RetryableError":
      return new RetryableError(message);
    case "QuestionRefusedError":
      return new QuestionRefusedError(message);
    case "QuestionWithdrawnError":
      return new QuestionWithdrawnError(reason === "timed_out" ? "timed_out" : "task_ended");
    case "TaskError":
      // A class of the handler's may have the name, too.
      return isTaskErrorCode(code) ? new TaskError(code, message) : new Error(message);
    default:
      return new Error(message);
  }
}

function isTaskErrorCode(code: unknown): code is TaskErrorCode {
  return typeof code === "string" && Object.hasOwn(TASK_ERRORS, code);
}

/** Primitives cross as they are; of anything else only its text is ever looked at. */
function plain(thrown: unknown): unknown {
  if ((typeof thrown !== "object" || thrown === null) && typeof thrown !== "function" && typeof thrown !== "symbol")
    return thrown;
  return textOfThrown(thrown);
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
