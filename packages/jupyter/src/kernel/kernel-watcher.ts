/** Reads from a kernel's messages that its process has ended or been replaced: nothing announces it directly. */
import { statusOf } from "./messages.js";
import type { KernelMessage } from "./wire.js";

/**
 * - `restarting`: the kernel is shutting down to come back; requests under way will not be answered
 * - `shutdown`: the kernel is shutting down
 * - `died`: its process ended, and the server starts a new one
 * - `dead`: its process ended, and the server has given up
 * - `replaced`: another process answers in its place, whatever became of the old one
 */
export type KernelChange = "restarting" | "shutdown" | "died" | "dead" | "replaced";

/** Follows one kernel, over reconnections too. */
export class KernelWatcher {
  /** By session, every process seen so far: the last words of an old one may come after the first of the new. */
  readonly #seen = new Set<string>();

  /** What a message tells about the kernel's process; mostly nothing. */
  observe(message: KernelMessage): KernelChange | undefined {
    if (message.channel !== "iopub") return undefined;
    return serverVerdict(message) ?? this.#sessionChange(message) ?? shutdownNotice(message);
  }

  /**
   * Takes the process that answered as the kernel's, so that its first iopub message is no news.
   * @returns whether it is another one than before
   */
  accept(answer: KernelMessage): boolean {
    return this.#sessionChange(answer) === "replaced";
  }

  #sessionChange(message: KernelMessage): KernelChange | undefined {
    const { session } = message.header;
    if (!isKernelsOwn(message) || this.#seen.has(session)) return undefined;
    const isFirst = this.#seen.size === 0;
    this.#seen.add(session);
    return isFirst ? undefined : "replaced";
  }
}

/**
 * Whether the session of a message names the kernel's process. Some kernels copy the session of the request instead, so
 * that it differs from client to client; and what the server itself says carries our own session and answers nothing.
 */
function isKernelsOwn(message: KernelMessage): boolean {
  const type = message.header.msg_type;
  const unasked = message.parent_header.session === undefined;
  if (unasked) return type === "iopub_welcome" || statusOf(message) === "starting";
  return message.header.session !== message.parent_header.session;
}

/** The server's own status messages; no kernel says these of itself. */
function serverVerdict(message: KernelMessage): KernelChange | undefined {
  const status = statusOf(message);
  if (message.parent_header.msg_id !== undefined) return undefined;
  if (status === "restarting") return "died";
  return status === "dead" ? "dead" : undefined;
}

/** ipykernel broadcasts the answer to the request that ends it. */
function shutdownNotice(message: KernelMessage): KernelChange | undefined {
  if (message.header.msg_type !== "shutdown_reply") return undefined;
  return message.content.restart === true ? "restarting" : "shutdown";
}
