import { setTimeout as sleep } from "node:timers/promises";
import { isBusy } from "./driver.js";

/**
 * Answers what `attempt` answers, trying again while another process holds the file's lock, for `forMs` at the
 * most. The driver's own wait blocks this process's event loop, so it is kept short and the long wait is here.
 */
export async function retryWhileBusy<T>(attempt: () => T, forMs: number): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedAt >= forMs) throw error;
    }
    // Spread, so that processes which wait for one lock do not go on meeting.
    await sleep(1 + Math.random() * 9);
  }
}
