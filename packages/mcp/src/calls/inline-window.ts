/** Holding the answer to a call for a moment: quick work is answered with its result, as if there had been no task. */
import { type Clock, isTerminal, type StopSignal, type TaskRecord, type TaskRuntime } from "@claimcheck/core";
import type { Answer } from "../dialects/dialect.js";
import { inlinedOutcome } from "../dialects/extension-2026-07-28.js";

interface Held {
  runtime: TaskRuntime;
  clock: Clock;
}

/** The plain answer, when there is one within `windowMs`; `null` when the caller gets a task: it goes on, asks, or was cancelled. */
export async function holdInline({ runtime, clock }: Held, task: TaskRecord, windowMs: number): Promise<Answer | null> {
  const until = ({ status }: TaskRecord): boolean => status !== "working";
  const now = await waitAtMost({ runtime, clock }, task.owner, task.taskId, windowMs, { until });
  return now === undefined || now === null || !isTerminal(now) ? null : inlinedOutcome(now);
}

/**
 * Waits until the task is as asked or has ended; `null` when there is no such task, `undefined` when the time is over.
 *
 * @throws as `TaskRuntime.wait` does
 */
export async function waitAtMost(
  { runtime, clock }: Held,
  owner: string,
  taskId: string,
  windowMs: number,
  { until, signal }: { until: (task: TaskRecord) => boolean; signal?: AbortSignal },
): Promise<TaskRecord | null | undefined> {
  const window = new Window(clock, windowMs, signal);
  try {
    return await runtime.wait(owner, taskId, { until, signal: window });
  } catch (error) {
    if (window.isOver) return undefined;
    throw error;
  } finally {
    window.close();
  }
}

/** Closes by itself, or by the signal of whoever waits. */
class Window implements StopSignal {
  readonly #clock: Clock;
  readonly #timer: ReturnType<Clock["setTimer"]> | undefined;
  readonly #signal: AbortSignal | undefined;
  isOver: boolean;
  #listener: (() => void) | undefined;

  constructor(clock: Clock, windowMs: number, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#signal = signal;
    this.isOver = windowMs <= 0;
    if (this.isOver) return;
    this.#timer = clock.setTimer(() => {
      this.isOver = true;
      this.#listener?.();
    }, windowMs);
  }

  get aborted(): boolean {
    return this.isOver || this.#signal?.aborted === true;
  }

  get reason(): unknown {
    return this.#signal?.reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
    this.#signal?.addEventListener("abort", listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listener = undefined;
    this.#signal?.removeEventListener("abort", listener);
  }

  close(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
  }
}
