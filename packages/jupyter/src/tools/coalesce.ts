/** Doing something for many events at once: soon after the first, and not again before the cost of the last is small. */
import type { Clock, Timer } from "@claimcheck/core";

export interface Coalescer {
  /** Something has happened: `work` runs within a short time. */
  mark(): void;
  /** No further run of `work`; one under way ends. */
  stop(): void;
}

/** At most a tenth of the time goes into the work, however large it has grown. */
const SHARE = 10;

/**
 * Calls `work` at most every `intervalMs`, and the more rarely the longer it takes. One run at a time.
 * @param onError told what `work` rejects with; the next mark tries again
 */
export function coalesce(
  work: () => void | Promise<void>,
  options: { intervalMs: number; clock: Clock; onError: (error: unknown) => void },
): Coalescer {
  const { intervalMs, clock, onError } = options;
  let timer: Timer | undefined;
  let stopped = false;
  let marked = false;
  let busy = false;
  let restMs = intervalMs;
  let endedAt = Number.NEGATIVE_INFINITY;

  function arm(): void {
    if (stopped || busy || timer !== undefined) return;
    const delayMs = Math.max(0, endedAt + restMs - clock.now());
    timer = clock.setTimer(() => void run(), delayMs);
  }

  async function run(): Promise<void> {
    timer = undefined;
    marked = false;
    busy = true;
    const startedAt = clock.now();
    try {
      await work();
    } catch (error) {
      onError(error);
    }
    busy = false;
    endedAt = clock.now();
    restMs = Math.max(intervalMs, SHARE * (endedAt - startedAt));
    if (marked) arm();
  }

  return {
    mark() {
      marked = true;
      arm();
    },
    stop() {
      stopped = true;
      if (timer !== undefined) clock.clearTimer(timer);
      timer = undefined;
    },
  };
}
