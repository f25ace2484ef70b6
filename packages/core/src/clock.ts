/** Time, passed in: tests move it by hand. */

/** Something that `clearTimer` takes. */
export type Timer = object;

export interface Clock {
  /** Epoch milliseconds: the hosts' idea of the time, which may be set forward and back. */
  now(): number;
  /**
   * Milliseconds that grow by what passes while this process can run, whatever becomes of {@link now}; from where they count
   * means nothing. Default: those of {@link now}.
   */
  elapsed?(): number;
  /** Calls `callback` once, `delayMs` from now; any finite delay of at least 0. Never keeps the process alive. */
  setTimer(callback: () => void, delayMs: number): Timer;
  clearTimer(timer: Timer): void;
}

/** Node fires a longer timer after 1 ms; waiting on in slices keeps long delays right. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

class SystemTimer {
  handle: NodeJS.Timeout | undefined;

  arm(callback: () => void, delayMs: number): void {
    const slice = Math.min(delayMs, LONGEST_TIMER_MS);
    this.handle = setTimeout(() => (slice < delayMs ? this.arm(callback, delayMs - slice) : callback()), slice);
    this.handle.unref();
  }
}

/** The host's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimer(callback, delayMs) {
    const timer = new SystemTimer();
    timer.arm(callback, delayMs);
    return timer;
  },
  clearTimer(timer) {
    clearTimeout((timer as SystemTimer).handle);
  },
};
