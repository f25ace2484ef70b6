// What this package promises. Adding a line here is a decision.
export type {
  CancelToken,
  JsonValue,
  Limits,
  Log,
  LogLevel,
  LogMessage,
  RetryOptions,
  TaskHandle,
  ToolRecovery,
} from "@claimcheck/core";
export {
  CancelledError,
  DEFAULT_LIMITS,
  HandedOverError,
  QuestionWithdrawnError,
  RetryableError,
  recordOutput,
  registerInterrupt,
} from "@claimcheck/core";
export type { HttpAuth, StaticTokenAuth, VerifierAuth } from "./auth/http-auth.js";
export type { JwtAuth } from "./auth/jwt-verifier.js";
export type { ResourceServer } from "./auth/resource-server.js";
export type { ScopeTable } from "./auth/scopes.js";
export type { Contract, IsErrorAs } from "./dialects/choose.js";
export type { DialectName, TaskSupport } from "./dialects/dialect.js";
export type { HttpHandler, HttpHandlerOptions, HttpSender } from "./http/handler.js";
export { createHttpHandler } from "./http/handler.js";
export type { HttpServing, ServeHttpOptions } from "./http/serve.js";
export { serveHttp } from "./http/serve.js";
export type { Subscriptions } from "./listen/subscriptions.js";
export type { Ownership, Principal } from "./owner.js";
export type { Answers, AskFirst, FirstQuestions } from "./questions/ask-first.js";
export { QuestionRefusedError } from "./questions/asker.js";
export type { FormQuestion, JsonSchema, Patience, UrlQuestion } from "./questions/question.js";
export type { Elicited, ElicitedContent, ToolContext } from "./questions/tool-context.js";
export type { Command, CommandEnd } from "./runners/command.js";
export { INHERITED_ENV } from "./runners/command.js";
export type { WorkerThreadsOptions } from "./runners/thread-pool.js";
export type { ServeStdioOptions, StdioServing } from "./stdio/serve.js";
export { serveStdio } from "./stdio/serve.js";
export type { Tasks, TasksOptions } from "./tasks.js";
export { createTasks } from "./tasks.js";
export type {
  CommandFor,
  CommandHandler,
  ResumeHandler,
  ResumeHandlers,
  RunnerHandlers,
  RunnerName,
  ToolArguments,
  ToolConfig,
  ToolHandler,
  ToolReturn,
  WorkerModule,
} from "./tools/config.js";
