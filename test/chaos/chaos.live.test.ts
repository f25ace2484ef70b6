/** What docs/guarantees.md promises, held on every store while processes and servers break (`npm run chaos` runs one seed). */
import { expect, it } from "vitest";
import { runSeeds } from "./run-seeds.js";
import type { StoreKind } from "./schedule.js";

/** 200 in all: most where most can break. They go on side by side, each row in a world of its own. */
const SEEDS: readonly (readonly [kind: StoreKind, from: number, to: number])[] = [
  ["memory", 1, 20],
  ["sqlite", 1, 20],
  ["sqlite", 21, 40],
  ["sqlite", 41, 60],
  ["postgres", 1, 20],
  ["postgres", 21, 40],
  ["postgres", 41, 60],
  ["redis", 1, 20],
  ["redis", 21, 40],
  ["redis", 41, 60],
];

it.concurrent.each(SEEDS)("on %s, seeds %i to %i", async (kind, from, to) => {
  const seeds = Array.from({ length: to - from + 1 }, (_, n) => from + n);
  let run = 0;
  for await (const { violations, timeline } of runSeeds({ kind }, seeds)) {
    expect(violations, violations.length > 0 ? timeline() : "").toEqual([]);
    run += 1;
  }
  expect(run).toBe(seeds.length);
});
