/**
 * Messages that came for a request before it was adopted: a server replays those of an earlier session as soon as it is
 * connected to, and a kernel goes on saying things while its log is being read.
 */
import type { KernelMessage } from "./wire.js";

/** More of them than that belong to nobody. */
const MOST = 20_000;

export class UnclaimedMessages {
  readonly #sessionId: string | undefined;
  readonly #expected = new Set<string>();
  readonly #byRequest = new Map<string, KernelMessage[]>();
  #count = 0;

  /** @param sessionId of the process whose requests are to be adopted; undefined: only those that are expected */
  constructor(sessionId?: string) {
    this.#sessionId = sessionId;
  }

  expect(msgId: string): void {
    this.#expected.add(msgId);
  }

  /** Keeps the message, if it is for a request that may be adopted. */
  keep(message: KernelMessage): void {
    const { msg_id: msgId, session } = message.parent_header;
    if (msgId === undefined || this.#count >= MOST) return;
    if (!this.#expected.has(msgId) && (session === undefined || session !== this.#sessionId)) return;
    this.#count += 1;
    const kept = this.#byRequest.get(msgId);
    if (kept === undefined) this.#byRequest.set(msgId, [message]);
    else kept.push(message);
  }

  /** Those of a request, in the order in which they came; they are kept no longer. */
  take(msgId: string): KernelMessage[] {
    const kept = this.#byRequest.get(msgId) ?? [];
    this.#byRequest.delete(msgId);
    this.#expected.delete(msgId);
    this.#count -= kept.length;
    return kept;
  }
}
