/** The checker finds what it is there to find: each runtime that is wrong in one way is caught by what is aimed at it. */
import { expect, it } from "vitest";
import type { BrokenName } from "./broken.js";
import type { Rule } from "./checker.js";
import { drillOf } from "./drills.js";
import { runSchedules } from "./run-schedules.js";
import type { Schedule } from "./schedule.js";

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
const MOST_TRIES = 10;

const scheduleFor = (aimedAt: BrokenName, seed: number): Schedule => drillOf("sqlite", aimedAt, seed);

it.concurrent.each(Object.entries(PROOFS) as [BrokenName, readonly Rule[]][])("%s", async (broken, by) => {
  const schedules = Array.from({ length: MOST_TRIES }, (_, n) => scheduleFor(broken, n + 1));
  const found = new Set<Rule>();
  for await (const { violations } of runSchedules({ kind: "sqlite", broken }, schedules))
    for (const { rule } of violations) found.add(rule);
  expect(
    [...found].filter((rule) => by.includes(rule)),
    [...found].join(),
  ).not.toEqual([]);
});

/** One for each schedule there is. */
const AIMED_AT: readonly BrokenName[] = [
  "ends-not-final",
  "create-not-atomic",
  "create-not-durable",
  "recovers-the-living",
  "payload-late",
  "owners-unchecked",
  "never-recovers",
];

it.concurrent("nothing is found by the same schedules where nothing is wrong", async () => {
  const schedules = AIMED_AT.map((aimedAt, n) => scheduleFor(aimedAt, n + 1));
  for await (const { violations, timeline } of runSchedules({ kind: "sqlite" }, schedules))
    expect(violations, violations.length > 0 ? timeline() : "").toEqual([]);
});
