/** Everything that the rest of the package uses to talk to Jupyter kernels. */

export { type ServerAddress, serverAddress } from "./address.js";
export { connectKernel, type KernelConnection } from "./connection.js";
export type { ConnectionEvent, ConnectionOptions, ConnectionState } from "./connection-options.js";
export { JupyterError, type JupyterErrorCode } from "./errors.js";
export type { ExecuteRequest, Execution, ExecutionListener, InputRequest, SentBefore } from "./execution.js";
export type { AbortCause, CodeError, EndState, ExecutionEnd, Incompleteness } from "./execution-end.js";
export {
  type InterruptLadder,
  type InterruptOptions,
  type InterruptReport,
  interruptExecution,
} from "./interrupt.js";
export type { KernelChange } from "./kernel-watcher.js";
export type { ReconnectOptions } from "./link.js";
export { createMessage, type NewMessage, type Sender, statusOf } from "./messages.js";
export { KernelQueue } from "./queue.js";
export {
  type CancelReport,
  QueuedRun,
  type QueueOptions,
  type RunListener,
  type RunOptions,
  type RunState,
} from "./queued-run.js";
export { type KernelLog, Recorder, type RecorderAnswer } from "./recorder.js";
export {
  type ContentsModel,
  JupyterRest,
  type KernelModel,
  type KernelSpec,
  type KernelSpecs,
  type RestOptions,
  type SessionModel,
  type StartKernelOptions,
} from "./rest.js";
export {
  type KernelChannel,
  type KernelMessage,
  legacyProtocol,
  MalformedFrameError,
  type MessageHeader,
  V1_SUBPROTOCOL,
  v1Protocol,
  type WireProtocol,
  wireProtocol,
} from "./wire.js";
