/** The checker finds what it is there to find: each runtime that is wrong in one way is caught by what is aimed at it. */
import { expect, it } from "vitest";
import type { BrokenName } from "./broken.js";
import type { Rule } from "./checker.js";
import { runSeeds } from "./run-seeds.js";

/** The rules by which each may be caught; which of them comes first is chance. */
const PROOFS: Readonly<Record<BrokenName, readonly Rule[]>> = {
  "fencing-off": ["stale-outcome", "run-again", "end-changed", "living-peer-robbed"],
  "compare-and-set-off": ["end-changed", "run-again", "stale-outcome"],
  "ends-not-final": ["end-changed", "stale-outcome"],
  "create-not-atomic": ["key-made-two"],
  "create-not-durable": ["task-lost"],
  "recovers-the-living": ["living-peer-robbed", "run-again"],
  "payload-late": ["payload-and-status", "end-changed"],
  "owners-unchecked": ["foreign-task-seen"],
  "never-recovers": ["stuck", "recovered-late"],
};
/** One does on a machine with nothing else to do, but for what is a matter of milliseconds. */
const SEEDS = Array.from({ length: 10 }, (_, n) => n + 1);

it.concurrent.each(Object.entries(PROOFS) as [BrokenName, readonly Rule[]][])("%s", async (broken, by) => {
  const found = new Set<Rule>();
  for await (const { violations } of runSeeds({ kind: "sqlite", broken, aimedAt: broken }, SEEDS))
    for (const { rule } of violations) found.add(rule);
  expect(
    [...found].filter((rule) => by.includes(rule)),
    [...found].join(),
  ).not.toEqual([]);
});

/** One for each schedule there is. */
const SCHEDULES: readonly BrokenName[] = [
  "ends-not-final",
  "create-not-atomic",
  "create-not-durable",
  "recovers-the-living",
  "payload-late",
  "owners-unchecked",
  "never-recovers",
];

it.concurrent.each(SCHEDULES)("what is aimed at %s finds nothing where nothing is wrong", async (aimedAt) => {
  for await (const { violations, timeline } of runSeeds({ kind: "sqlite", aimedAt }, [1]))
    expect(violations, violations.length > 0 ? timeline() : "").toEqual([]);
});
