/** Runs seeds one after the other in one world, and says of each what was wrong. */
import { check, type Violation } from "./checker.js";
import { runSeed } from "./episode.js";
import type { History } from "./history.js";
import { type FaultWeights, type Schedule, scheduleOf } from "./schedule.js";
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
  /** What breaks. Default: everything that can. */
  faults?: FaultWeights;
  /** How much longer than scheduled each tool works. Default 0. */
  longerMs?: number;
}

/** Stops at the first seed that is not well, which the world does not outlive. */
export async function* runSeeds(
  { faults, longerMs = 0, ...options }: RunOptions,
  seeds: Iterable<number>,
): AsyncGenerator<SeedResult> {
  const { nodes } = scheduleOf(options.kind, 0);
  const world = await World.open({ ...options, nodes });
  try {
    for (const seed of seeds) {
      const history = await runSeed(world, longer(scheduleOf(options.kind, seed, faults), longerMs));
      const violations = check(history);
      const log = violations.length > 0 ? world.log() : "";
      yield { seed, history, violations, timeline: () => `${timelineOf(history, violations)}\n\n${log.slice(-4000)}` };
      if (violations.length > 0) return;
    }
  } finally {
    await world.close();
  }
}

function longer(schedule: Schedule, byMs: number): Schedule {
  const operations = schedule.operations.map((operation) =>
    operation.kind === "create"
      ? { ...operation, work: { ...operation.work, runMs: operation.work.runMs + byMs } }
      : operation,
  );
  return { ...schedule, operations };
}
