/** The checker finds what it is there to find: each runtime that is wrong in one way is caught within a few seeds. */
import { expect, it } from "vitest";
import type { BrokenName } from "./broken.js";
import type { Rule } from "./checker.js";
import { runSeeds } from "./run-seeds.js";
import { type FaultWeights, LEASE_MS } from "./schedule.js";

interface Proof {
  /** The rules by which it may be caught; which of them comes first is chance. */
  by: readonly Rule[];
  /** What has to break for it to show. */
  faults: FaultWeights;
  longerMs?: number;
}

const PAUSES = { pause: 1 };
const KILLS = { kill: 1 };

// What a stale process may not write shows while a peer that took its work over is still at it.
const PROOFS: Readonly<Record<BrokenName, Proof>> = {
  "fencing-off": {
    by: ["stale-outcome", "run-again", "end-changed", "living-peer-robbed"],
    faults: PAUSES,
    longerMs: LEASE_MS,
  },
  "compare-and-set-off": { by: ["end-changed", "run-again", "stale-outcome"], faults: PAUSES, longerMs: LEASE_MS },
  "ends-not-final": { by: ["end-changed", "stale-outcome"], faults: PAUSES, longerMs: LEASE_MS },
  "create-not-atomic": { by: ["key-made-two"], faults: PAUSES },
  "create-not-durable": { by: ["task-lost"], faults: KILLS },
  "recovers-the-living": { by: ["living-peer-robbed", "run-again"], faults: KILLS },
  "payload-late": { by: ["payload-and-status", "end-changed"], faults: KILLS },
  "owners-unchecked": { by: ["foreign-task-seen"], faults: KILLS },
  "never-recovers": { by: ["stuck", "recovered-late"], faults: KILLS },
};
const MOST_SEEDS = 40;

it.concurrent.each(Object.entries(PROOFS) as [BrokenName, Proof][])("%s", async (broken, { by, ...how }) => {
  const seeds = Array.from({ length: MOST_SEEDS }, (_, n) => n + 1);
  const found = new Set<Rule>();
  for await (const { violations } of runSeeds({ kind: "sqlite", broken, ...how }, seeds))
    for (const { rule } of violations) found.add(rule);
  expect(
    [...found].filter((rule) => by.includes(rule)),
    [...found].join(),
  ).not.toEqual([]);
});
