/** Messages that came for a request before anybody said that it is theirs: a server replays them as soon as it is connected to. */
import type { KernelMessage } from "./wire.js";

/** More of them than that belong to nobody. */
const MOST = 20_000;

export class UnclaimedMessages {
  readonly #byRequest = new Map<string, KernelMessage[]>();
  #count = 0;

  keep(message: KernelMessage): void {
    const { msg_id: msgId } = message.parent_header;
    if (msgId === undefined || this.#count >= MOST) return;
    this.#count += 1;
    const kept = this.#byRequest.get(msgId);
    if (kept === undefined) this.#byRequest.set(msgId, [message]);
    else kept.push(message);
  }

  /** Those of a request, in the order in which they came; they are kept no longer. */
  take(msgId: string): KernelMessage[] {
    const kept = this.#byRequest.get(msgId) ?? [];
    this.#byRequest.delete(msgId);
    this.#count -= kept.length;
    return kept;
  }
}
