/** Runs seeds one after the other in one world, and says of each what was wrong. */
import type { BrokenName } from "./broken.js";
import { check, type Violation } from "./checker.js";
import { drillOf } from "./drills.js";
import { runSeed } from "./episode.js";
import type { History } from "./history.js";
import { nodesOn, scheduleOf } from "./schedule.js";
import { timelineOf } from "./timeline.js";
import { World, type WorldOptions } from "./world.js";

export interface SeedResult {
  seed: number;
  history: History;
  violations: Violation[];
  /** What a person needs to see what happened; made when it is asked for. */
  timeline(): string;
}

export interface RunOptions extends Omit<WorldOptions, "nodes"> {
  /** Runs what is aimed at this fault. Default: what each seed's schedule comes to. */
  aimedAt?: BrokenName;
}

/** Stops at the first seed that is not well, which the world does not outlive. */
export async function* runSeeds(
  { aimedAt, ...options }: RunOptions,
  seeds: Iterable<number>,
): AsyncGenerator<SeedResult> {
  const { kind } = options;
  const world = await World.open({ ...options, nodes: nodesOn(kind) });
  try {
    for (const seed of seeds) {
      const schedule = aimedAt === undefined ? scheduleOf(kind, seed) : drillOf(kind, aimedAt, seed);
      const history = await runSeed(world, schedule);
      const violations = check(history);
      const log = violations.length > 0 ? world.log() : "";
      yield { seed, history, violations, timeline: () => `${timelineOf(history, violations)}\n\n${log.slice(-4000)}` };
      if (violations.length > 0) return;
    }
  } finally {
    await world.close();
  }
}
