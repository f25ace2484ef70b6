/** Making messages for a kernel, and reading the few facts that the connection itself needs from a kernel's. */
import { randomUUID } from "node:crypto";
import type { KernelChannel, KernelMessage } from "./wire.js";

/** The version of the messaging specification that we write. */
const MESSAGING_VERSION = "5.3";

/** What a new message says; the header is made here. */
export interface NewMessage {
  channel: KernelChannel;
  type: string;
  content?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  /** The message that this one answers: for an `input_reply`. Default: none. */
  parent?: KernelMessage;
  /** Default: a random one. */
  msgId?: string;
}

/** Who sends. */
export interface Sender {
  sessionId: string;
  username: string;
}

/** A message with a header of its own. */
export function createMessage(sender: Sender, message: NewMessage): KernelMessage {
  return {
    channel: message.channel,
    header: {
      msg_id: message.msgId ?? randomUUID(),
      msg_type: message.type,
      session: sender.sessionId,
      username: sender.username,
      date: new Date().toISOString(),
      version: MESSAGING_VERSION,
    },
    parent_header: message.parent?.header ?? {},
    metadata: message.metadata ?? {},
    content: message.content ?? {},
    buffers: [],
  };
}

/** The state that a `status` message announces (`busy`, `idle`, `starting`, `restarting`, `dead`); else undefined. */
export function statusOf(message: KernelMessage): string | undefined {
  if (message.channel !== "iopub" || message.header.msg_type !== "status") return undefined;
  const state = message.content.execution_state;
  return typeof state === "string" ? state : undefined;
}
