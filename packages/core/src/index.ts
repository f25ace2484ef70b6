// What this package promises. Adding a line here is a decision.
export type { Clock, Timer } from "./clock.js";
export { systemClock } from "./clock.js";
export type { ListPosition } from "./cursor.js";
export { comparePositions, decodeCursor, encodeCursor } from "./cursor.js";
export type { TaskErrorCode } from "./errors.js";
export { isTaskError, TASK_ERRORS, TaskError } from "./errors.js";
export type { JsonObject, JsonValue } from "./json.js";
export type { Logger } from "./logger.js";
export { describeError, stderrLogger } from "./logger.js";
export type { MemoryStoreOptions } from "./memory-store.js";
export { MemoryStore } from "./memory-store.js";
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
