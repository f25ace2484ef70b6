/**
 * Stops work in this order: every registered interrupt, a grace period, what escalates, a second grace period. Then
 * the work is waited for no longer, and what is known of it is said. An interrupt that fails is logged and holds
 * nothing up: half of what was asked for is better than none of it.
 */
import type { AttemptHost } from "./attempt-host.js";
import type { Interrupt } from "./context.js";
import { describeError } from "./logger.js";
import { boundedText } from "./status-message.js";

export interface StopResult {
  how: "stopped" | "still_running" | "not_started";
  /** What failed on the way, if anything did. */
  error?: string;
}

export class InterruptLadder {
  readonly #host: Pick<AttemptHost, "logger" | "runDeadlines">;
  readonly #taskId: string;
  readonly #graceMs: number;
  #interrupts: { stop: Interrupt; escalate: Interrupt | undefined }[] | undefined;
  #stage: "idle" | "interrupting" | "escalating" = "idle";
  #error: string | undefined;
  #isSettled = false;
  #isGivenUp = false;
  #onSettled: (() => void) | undefined;
  #stopping: Promise<StopResult> | undefined;

  /** `graceMs`: how long the work has to stop; again after escalating. */
  constructor(host: Pick<AttemptHost, "logger" | "runDeadlines">, taskId: string, graceMs: number) {
    this.#host = host;
    this.#taskId = taskId;
    this.#graceMs = graceMs;
  }

  /** Adds a way to stop the work; one that comes late is used at once. */
  register(stop: Interrupt, escalate: Interrupt | undefined): void {
    this.#interrupts ??= [];
    this.#interrupts.push({ stop, escalate });
    if (this.#stage !== "idle") void this.#call(stop);
    if (this.#stage === "escalating" && escalate !== undefined) void this.#call(escalate);
  }

  /** The work has ended. */
  settled(): void {
    this.#isSettled = true;
    this.#interrupts = undefined;
    this.#onSettled?.();
  }

  /** Waits for the work no longer: stopping goes through what is left of its order at once. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#onSettled?.();
  }

  /** Stops the work, once however often it is asked to. */
  stop(): Promise<StopResult> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Calls nothing, and waits for the work to end within its grace: it has been told in another way. */
  async letEnd(): Promise<StopResult> {
    await this.#settlesWithinGrace();
    return this.#result();
  }

  async #stop(): Promise<StopResult> {
    this.#stage = "interrupting";
    for (const { stop } of this.#interrupts ?? []) void this.#call(stop);
    await this.#settlesWithinGrace();
    if (!this.#isSettled) await this.#escalate();
    return this.#result();
  }

  #result(): StopResult {
    const result: StopResult = { how: this.#isSettled ? "stopped" : "still_running" };
    if (this.#error !== undefined) result.error = this.#error;
    return result;
  }

  async #escalate(): Promise<void> {
    this.#stage = "escalating";
    const harder = (this.#interrupts ?? []).flatMap(({ escalate }) => (escalate === undefined ? [] : [escalate]));
    if (harder.length === 0) return;
    for (const escalate of harder) void this.#call(escalate);
    await this.#settlesWithinGrace();
  }

  async #call(interrupt: Interrupt): Promise<void> {
    try {
      await interrupt();
    } catch (error) {
      this.#error = boundedText(describeError(error));
      this.#host.logger.error(
        { taskId: this.#taskId, error: this.#error },
        "an interrupt failed; the work may still be running",
      );
    }
  }

  #settlesWithinGrace(): Promise<void> {
    if (this.#isSettled || this.#isGivenUp) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = this.#host.runDeadlines.after(this.#graceMs, resolve);
      this.#onSettled = () => {
        deadline.cancel();
        resolve();
      };
    });
  }
}
