/** One request that is answered by one reply: `kernel_info_request`, `history_request`, ... */
import { JupyterError } from "./errors.js";
import type { Route, WithdrawCause } from "./routes.js";
import type { KernelMessage } from "./wire.js";

/** Done with its reply; that the kernel says anything on iopub proves that what it publishes is heard. */
export class ReplyRequest implements Route {
  readonly msgId: string;
  readonly halfDoneSince = undefined;
  /** Rejects with a JupyterError when there will be no reply. */
  readonly reply: Promise<KernelMessage>;
  /** Resolves once the kernel has said something of it on iopub, which may come after the reply. */
  readonly heard: Promise<true>;
  #hear: () => void = () => {};
  #resolve: (reply: KernelMessage) => void = () => {};
  #reject: (error: JupyterError) => void = () => {};
  #isDone = false;

  constructor(msgId: string) {
    this.msgId = msgId;
    this.heard = new Promise((resolve) => {
      this.#hear = () => resolve(true);
    });
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever only wants the effect, such as a nudge, does not look at the reply.
    this.reply.catch(() => {});
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  receive(message: KernelMessage): void {
    if (message.channel === "iopub") this.#hear();
    if (message.channel === "iopub" || !message.header.msg_type.endsWith("_reply")) return;
    this.#isDone = true;
    this.#resolve(message);
  }

  lose(cause: WithdrawCause, reason: string): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#reject(new JupyterError("unreachable", `The kernel will not answer (${cause}): ${reason}.`));
  }

  withdraw(cause: WithdrawCause, reason: string): void {
    this.lose(cause, reason);
  }

  settleUnanswered(reason: string): void {
    this.lose("connection_lost", reason);
  }

  noteGap(): void {}
}
