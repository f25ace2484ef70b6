/** Everything that the rest of the package uses to talk to Jupyter kernels. */

export { type ServerAddress, serverAddress } from "./address.js";
export { JupyterError, type JupyterErrorCode } from "./errors.js";
export { createMessage, type NewMessage, type Sender, statusOf } from "./messages.js";
export {
  type ContentsModel,
  JupyterRest,
  type KernelModel,
  type KernelSpec,
  type KernelSpecs,
  type RestOptions,
  type ServerStatus,
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
