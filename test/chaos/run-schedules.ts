/** Runs schedules one after the other in one world, and says of each what was wrong. */
import { check, type Violation } from "./checker.js";
import { runSeed } from "./episode.js";
import type { History } from "./history.js";
import { nodesOn, type Schedule } from "./schedule.js";
import { timelineOf } from "./timeline.js";
import { World, type WorldOptions } from "./world.js";

export interface ScheduleResult {
  history: History;
  violations: Violation[];
  /** What a person needs to see what happened; made when it is asked for. */
  timeline(): string;
}

/**
 * Stops at the first schedule that is not well, which the world does not outlive.
 *
 * @param schedules of one kind of store, each of another seed: by that their clients are other owners
 */
export async function* runSchedules(
  options: Omit<WorldOptions, "nodes">,
  schedules: Iterable<Schedule>,
): AsyncGenerator<ScheduleResult> {
  const world = await World.open({ ...options, nodes: nodesOn(options.kind) });
  try {
    for (const schedule of schedules) {
      const history = await runSeed(world, schedule);
      const violations = check(history);
      const log = violations.length > 0 ? world.log() : "";
      yield { history, violations, timeline: () => `${timelineOf(history, violations)}\n\n${log.slice(-4000)}` };
      if (violations.length > 0) return;
    }
  } finally {
    await world.close();
  }
}
