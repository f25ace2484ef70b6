// What this package promises. Adding a line here is a decision.
export type { Clock, Timer } from "./clock.js";
export { systemClock } from "./clock.js";
export type { TaskErrorCode } from "./errors.js";
export { isTaskError, TASK_ERRORS, TaskError } from "./errors.js";
export type { JsonObject, JsonValue } from "./json.js";
export type { ListQuery, StoreSignals, TaskPage, TaskStore } from "./store.js";
export type {
  Attempt,
  Cancellation,
  CancelledTask,
  CompletedTask,
  FailedTask,
  FailureReason,
  InputRequiredTask,
  LiveTask,
  Outcome,
  Progress,
  Question,
  RecoveryPolicy,
  TaskChanges,
  TaskFields,
  TaskRecord,
  TaskStatus,
  TaskSummary,
  TerminalStatus,
  TerminalTask,
  WorkingTask,
} from "./task.js";
export {
  applyChanges,
  expiresAt,
  isExpired,
  isTerminal,
  outstandingQuestions,
  summarize,
  TERMINAL_STATUSES,
} from "./task.js";
export type { AttemptEvent, OutsideEvent, Refusal, TaskEvent, Transition } from "./transitions.js";
export { transition } from "./transitions.js";
