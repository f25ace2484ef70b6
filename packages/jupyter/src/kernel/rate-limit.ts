/** The notice by which a Jupyter Server says that it is dropping a kernel's output. */
import type { KernelMessage } from "./wire.js";

const NOTICE = /^IOPub (message|data) rate exceeded\./;

/**
 * Whether a message is such a notice and not the user's stderr. The server writes it as a stderr stream with *our*
 * session in its header, where a kernel's own output carries the kernel's. The text counts too, for the kernels that
 * copy the session of the request.
 */
export function isRateLimitNotice(message: KernelMessage, ownSessionId: string): boolean {
  const { name, text } = message.content;
  return (
    message.header.session === ownSessionId &&
    message.header.msg_type === "stream" &&
    name === "stderr" &&
    typeof text === "string" &&
    NOTICE.test(text)
  );
}
