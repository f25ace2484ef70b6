// What this package promises. Adding a line here is a decision.

export { Brand } from "./brand.js";
export type { CancelToken } from "./cancel-source.js";
export { CancelledError, CancelSource, HandedOverError } from "./cancel-source.js";
export type { CancelledResult } from "./canceller.js";
export type { Clock, Timer } from "./clock.js";
export { systemClock } from "./clock.js";
export type {
  HandlerOutcome,
  Interrupt,
  InterruptOptions,
  Log,
  LogLevel,
  LogMessage,
  QuestionRequest,
  ResumeHandler,
  SendProgress,
  TaskHandle,
  ToolContext,
  ToolDefinition,
  ToolHandler,
} from "./context.js";
export {
  directContext,
  LOG_LEVELS,
  QuestionWithdrawnError,
  recordOutput,
  registerInterrupt,
  runInTask,
} from "./context.js";
export type { ListPosition } from "./cursor.js";
export { comparePositions, decodeCursor, encodeCursor, pageOf } from "./cursor.js";
export type { Deadline } from "./deadlines.js";
export { Deadlines } from "./deadlines.js";
export type { TaskErrorCode } from "./errors.js";
export { isTaskError, TASK_ERRORS, TaskError } from "./errors.js";
export { Fifo } from "./fifo.js";
export { fingerprint, MAX_IDEMPOTENCY_KEY_LENGTH } from "./fingerprint.js";
export { frozenCopy } from "./frozen-copy.js";
export { indexKey } from "./index-key.js";
export type { JsonObject, JsonValue } from "./json.js";
export type { Limits } from "./limits.js";
export { DEFAULT_LIMITS } from "./limits.js";
export type { Logger } from "./logger.js";
export { describeError, stderrLogger, textOfThrown } from "./logger.js";
export type { MemoryStoreOptions } from "./memory-store.js";
export { MemoryStore } from "./memory-store.js";
export type { CreatedTask, CreateTask } from "./new-task.js";
export type { OptionRule, OptionRules } from "./options.js";
export {
  aClock,
  aFunction,
  aLogger,
  anObject,
  anything,
  checkOptions,
  durationFrom,
  having,
  listOfText,
  numberFrom,
  oneOf,
  someText,
  trueOrFalse,
  wholeNumberFrom,
} from "./options.js";
export { Outage } from "./outage.js";
export type { PollLimiter } from "./poll-limiter.js";
export { type RecordChange, RecordChanger, type RecordRows } from "./record-changer.js";
export type { Payload, PayloadTexts, RecordTexts } from "./record-texts.js";
export { PAYLOADS, recordOf, recordTextsOf, summaryOf } from "./record-texts.js";
export type { InProcessRunnerOptions, Runner, RunnerHost, Submission } from "./runner.js";
export { InProcessRunner } from "./runner.js";
export { type CloseOptions, type Followed, TaskRuntime } from "./runtime.js";
export type { TaskRuntimeOptions } from "./runtime-options.js";
export { DEFAULT_TTL_MS, MAX_TTL_MS, RUNTIME_OPTIONS } from "./runtime-options.js";
export type { ServerHealth, ServerSession, ServerStoreOptions } from "./server-store.js";
export { ServerStore } from "./server-store.js";
export type { SignalRelay } from "./signal-relay.js";
export { taskIdsOf } from "./signal-relay.js";
export type { GivenAnswers, SizeLimits } from "./size-limits.js";
export { DEFAULT_SIZE_LIMITS } from "./size-limits.js";
export { boundedText } from "./status-message.js";
export type { ListQuery, StoreSignals, TaskPage, TaskStore } from "./store.js";
export type { SubscriptionLimiter } from "./subscription-limiter.js";
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
} from "./task.js";
export type { RetryOptions, ToolRecovery } from "./tool-recovery.js";
export { assertRecovery, RetryableError, retryAfter } from "./tool-recovery.js";
export type { AttemptEvent, OutsideEvent, Refusal, TaskEvent, Transition } from "./transitions.js";
export { transition } from "./transitions.js";
export type { StopSignal, WaitOptions } from "./waiting.js";
export type { RecordNews, TaskNews, Watcher } from "./watchers.js";
export { isRecordNews } from "./watchers.js";
export { LATE, within } from "./within.js";
