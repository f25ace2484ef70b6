/** Everything that the rest of the package uses to talk to Jupyter kernels. */

export { createMessage, type NewMessage, type Sender, statusOf } from "./messages.js";
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
