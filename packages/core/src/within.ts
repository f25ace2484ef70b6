/** Waiting for work, but not for ever. */
import type { Clock, Timer } from "./clock.js";

/** What {@link within} answers when the time was up first. */
export const LATE: unique symbol = Symbol("late");

/** What `work` comes to, or {@link LATE} after `limitMs`. The work goes on then, and what becomes of it is nobody's concern. */
export async function within<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<T | typeof LATE> {
  let timer: Timer | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = clock.setTimer(() => resolve(LATE), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    if (timer !== undefined) clock.clearTimer(timer);
  }
}
