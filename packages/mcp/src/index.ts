// What this package promises. Adding a line here is a decision.
export type { CancelToken, Limits, TaskHandle, ToolContext } from "@claimcheck/core";
export { DEFAULT_LIMITS, recordOutput, registerInterrupt } from "@claimcheck/core";
export type { HttpAuth, StaticTokenAuth, VerifierAuth } from "./auth/http-auth.js";
export type { JwtAuth } from "./auth/jwt-verifier.js";
export type { ResourceServer } from "./auth/resource-server.js";
export type { ScopeTable } from "./auth/scopes.js";
export type { Contract } from "./dialects/choose.js";
export type { DialectName, TaskSupport } from "./dialects/dialect.js";
export type { Ownership, Principal } from "./owner.js";
export type { ToolArguments, ToolConfig, ToolHandler } from "./register-tool.js";
export type { HttpServing, ServeHttpOptions } from "./serve-http.js";
export { serveHttp } from "./serve-http.js";
export type { ServeStdioOptions, StdioServing } from "./serve-stdio.js";
export { serveStdio } from "./serve-stdio.js";
export type { Tasks, TasksOptions } from "./tasks.js";
export { createTasks } from "./tasks.js";
