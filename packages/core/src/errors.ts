/**
 * The one catalogue of what can go wrong. Core knows no JSON-RPC number: the binding maps these codes.
 */
import { Brand } from "./brand.js";

export type TaskErrorCode =
  | "no_such_task"
  | "invalid_ttl"
  | "invalid_idempotency_key"
  | "idempotency_conflict"
  | "invalid_arguments"
  | "invalid_cursor"
  | "invalid_answer"
  | "unknown_tool"
  | "limit_reached"
  | "too_large"
  | "not_open"
  | "store_unusable";

/** Code → when it is raised. */
export const TASK_ERRORS: Readonly<Record<TaskErrorCode, string>> = {
  no_such_task: "The id is unknown, expired, or somebody else's; the three are not told apart.",
  invalid_ttl: "A ttl that is not a finite number of at least 0, or null.",
  invalid_idempotency_key:
    "A key that is not a string of 1 to 255 UTF-16 units, is only white space, or holds a lone surrogate.",
  idempotency_conflict: "The key names an earlier call with another tool or other arguments.",
  invalid_arguments: "Arguments that JSON cannot carry, or beyond the size or depth that is accepted.",
  invalid_cursor: "A cursor that no listing of this server made.",
  invalid_answer: "An answer that its question's schema refuses.",
  unknown_tool: "No tool of that name can run as a task here.",
  limit_reached: "A limit on tasks, waiters or polls; `data` says which, and `retryAfterMs` where it is known.",
  too_large:
    "A value with more bytes than are kept; `data` says how many it has, how many may be, and which option says so.",
  not_open: "The runtime has not been opened, or is closed.",
  store_unusable: "The store cannot be imported, built or opened; the message names the cause.",
};

const brand = new Brand<TaskError>("TaskError");

/** A refusal or a fault of the runtime. Test `code`, not the message; `isTaskError` works across copies of this package. */
export class TaskError extends Error {
  override readonly name = "TaskError";
  readonly code: TaskErrorCode;
  /** Structured detail for the client, such as `retryAfterMs`. */
  readonly data: Record<string, unknown> | undefined;

  constructor(code: TaskErrorCode, message: string, options: { cause?: unknown; data?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data;
    brand.mark(this);
  }
}

/** Whether `error` is a {@link TaskError}, also one of another copy of this package. */
export const isTaskError: (error: unknown) => error is TaskError = brand.isOn;
