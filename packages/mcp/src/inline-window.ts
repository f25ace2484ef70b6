/** Holding the answer to a call for a moment: quick work is answered with its result, as if there had been no task. */
import { type Clock, isTerminal, type StopSignal, type TaskRecord, type TaskRuntime } from "@claimcheck/core";
import type { Answer } from "./dialects/dialect.js";
import { inlinedOutcome } from "./dialects/extension-2026-07-28.js";

interface Held {
  runtime: TaskRuntime;
  clock: Clock;
}

/** The plain answer, when there is one within `windowMs`; `null` when the caller gets a task: it goes on, asks, or was cancelled. */
export async function holdInline({ runtime, clock }: Held, task: TaskRecord, windowMs: number): Promise<Answer | null> {
  const window = new Window(clock, windowMs);
  try {
    const until = ({ status }: TaskRecord): boolean => status !== "working";
    const now = await runtime.wait(task.owner, task.taskId, { until, signal: window });
    return now === null || !isTerminal(now) ? null : inlinedOutcome(now);
  } catch (error) {
    if (window.aborted) return null;
    throw error;
  } finally {
    window.close();
  }
}

/** Closes by itself. */
class Window implements StopSignal {
  readonly #clock: Clock;
  readonly #timer: ReturnType<Clock["setTimer"]>;
  aborted = false;
  #listener: (() => void) | undefined;

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#timer = clock.setTimer(() => {
      this.aborted = true;
      this.#listener?.();
    }, windowMs);
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(): void {
    this.#listener = undefined;
  }

  close(): void {
    this.#clock.clearTimer(this.#timer);
  }
}
