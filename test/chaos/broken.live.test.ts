/** The checker finds what it is there to find: each runtime that is wrong in one way is caught within a few seeds. */
import { expect, it } from "vitest";
import type { BrokenName } from "./broken.js";
import type { Rule } from "./checker.js";
import { runSeeds } from "./run-seeds.js";

/** By what it may be caught: which of them comes first is chance. */
const CAUGHT_BY: Readonly<Record<BrokenName, readonly Rule[]>> = {
  "fencing-off": ["stale-outcome", "run-again", "end-changed"],
  "compare-and-set-off": ["end-changed", "run-again", "stale-outcome", "payload-and-status"],
  "ends-not-final": ["end-changed"],
  "create-not-atomic": ["key-made-two"],
  "create-not-durable": ["task-lost"],
  "recovers-the-living": ["living-peer-robbed", "run-again"],
  "payload-late": ["payload-and-status", "end-changed"],
  "owners-unchecked": ["foreign-task-seen"],
  "never-recovers": ["stuck", "recovered-late"],
};
const MOST_SEEDS = 15;

it.concurrent.each(Object.entries(CAUGHT_BY) as [BrokenName, Rule[]][])("%s", async (broken, rules) => {
  const seeds = Array.from({ length: MOST_SEEDS }, (_, n) => n + 1);
  const found = new Set<Rule>();
  for await (const { violations } of runSeeds({ kind: "sqlite", broken }, seeds))
    for (const { rule } of violations) found.add(rule);
  expect([...found].filter((rule) => rules.includes(rule))).not.toEqual([]);
});
