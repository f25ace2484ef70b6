/** Everything that the rest of the package uses to talk to Jupyter kernels. */

export { type ServerAddress, serverAddress } from "./address.js";
export { connectKernel, type KernelConnection } from "./connection.js";
export type { ConnectionEvent, ConnectionOptions } from "./connection-options.js";
export { JupyterError } from "./errors.js";
export type { ExecuteRequest, Execution, SentBefore } from "./execution.js";
export type { EndState, ExecutionEnd, Incompleteness } from "./execution-end.js";
export { type InterruptLadder, type InterruptReport, interruptExecution } from "./interrupt.js";
export { createMessage } from "./messages.js";
export { KernelQueue } from "./queue.js";
export { type CancelReport, QueuedRun, type RunListener, type RunOptions, type RunState } from "./queued-run.js";
export { type KernelLog, Recorder, type RecorderAnswer } from "./recorder.js";
export { type ContentsModel, JupyterRest, type KernelModel, type SessionModel } from "./rest.js";
export { type KernelChannel, type KernelMessage, wireProtocol } from "./wire.js";
