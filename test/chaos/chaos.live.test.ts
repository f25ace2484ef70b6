/** What docs/guarantees.md promises, held on every store while processes and servers break (`npm run chaos` runs one seed). */
import { expect, it } from "vitest";
import { runSeeds } from "./run-seeds.js";
import type { StoreKind } from "./schedule.js";

/** 200 in all: most where most can break. The stores go on side by side, each in a world of its own. */
const SEEDS: Readonly<Record<StoreKind, number>> = { memory: 20, sqlite: 60, postgres: 60, redis: 60 };

it.concurrent.each(Object.entries(SEEDS) as [StoreKind, number][])("on %s, %i seeds", async (kind, howMany) => {
  const seeds = Array.from({ length: howMany }, (_, n) => n + 1);
  let run = 0;
  for await (const { violations, timeline } of runSeeds({ kind }, seeds)) {
    expect(violations, violations.length > 0 ? timeline() : "").toEqual([]);
    run += 1;
  }
  expect(run).toBe(howMany);
});
