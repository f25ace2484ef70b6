// For tests of tools. Nothing that serves loads this.
export { FakeClock, settle } from "@claimcheck/core/testing";
export type { Declares, Heard, Reply, WireTask } from "./raw-client.js";
export { envelopeOf, RawClient, WireError } from "./raw-client.js";
export { type DirectRun, runDirectly } from "./run-directly.js";
export { runTask, type TaskRun } from "./run-task.js";
export type { AskedQuestion, CallOptions, ConnectOptions, CreateOptions } from "./task-client.js";
export { AnsweredWithoutTask, ASKABLE, connectInMemory, DIALECTS, TaskClient } from "./task-client.js";
export type { AskedRequest, TaskView } from "./task-view.js";
export type { Handler, RunOptions, ToolRun } from "./tool-run.js";
