/** Ties work that this event loop does not do to the cancelling of its call: told to stop first, then ended. */
import type { Clock, Timer, ToolContext } from "@claimcheck/core";

export interface Stoppable {
  /** Asks it to stop. */
  stop(): void;
  /** Ends it. */
  end(): unknown;
}

/**
 * Waits for `work`. When the call is cancelled, or its task is handed over to another process, `stoppable` is stopped, and
 * ended after `graceMs`, or as soon as the task's own cancelling escalates.
 */
export async function untilStopped<T>(
  work: Promise<T>,
  stoppable: Stoppable,
  { task, signal }: Pick<ToolContext, "task" | "signal">,
  { clock, graceMs }: { clock: Clock; graceMs: number },
): Promise<T> {
  let timer: Timer | undefined;
  const stop = (): void => {
    stoppable.stop();
    timer = clock.setTimer(() => void stoppable.end(), graceMs);
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  // The signal has stopped it by then; a task that is handed over calls no interrupt.
  task?.registerInterrupt(() => {}, { escalate: () => stoppable.end() });
  try {
    return await work;
  } finally {
    signal.removeEventListener("abort", stop);
    if (timer !== undefined) clock.clearTimer(timer);
  }
}
