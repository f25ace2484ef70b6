/** What docs/guarantees.md promises, held on every store while processes and servers break (`npm run chaos` runs one seed). */
import { expect, it } from "vitest";
import { runSchedules } from "./run-schedules.js";
import { type StoreKind, scheduleOf } from "./schedule.js";

/** 200 in all: most where most can break. They go on side by side, each row in a world of its own. */
const SEEDS: readonly (readonly [kind: StoreKind, from: number, to: number])[] = [
  ["memory", 1, 20],
  ["sqlite", 1, 30],
  ["postgres", 1, 30],
  ["redis", 1, 30],
  ["sqlite", 31, 60],
  ["postgres", 31, 60],
  ["redis", 31, 60],
];

it.concurrent.each(SEEDS)("on %s, seeds %i to %i", async (kind, from, to) => {
  const schedules = Array.from({ length: to - from + 1 }, (_, n) => scheduleOf(kind, from + n));
  let run = 0;
  for await (const { violations, timeline } of runSchedules({ kind }, schedules)) {
    expect(violations, violations.length > 0 ? timeline() : "").toEqual([]);
    run += 1;
  }
  expect(run).toBe(schedules.length);
});
