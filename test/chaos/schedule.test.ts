import { describe, expect, it } from "vitest";
import { type FaultKind, STORE_KINDS, scheduleOf } from "./schedule.js";

const SEEDS = Array.from({ length: 60 }, (_, n) => n + 1);

describe.each(STORE_KINDS)("the schedule of a seed on %s", (kind) => {
  const schedules = SEEDS.map((seed) => scheduleOf(kind, seed));

  it("is the same each time, and another one for another seed", () => {
    for (const schedule of schedules) expect(scheduleOf(kind, schedule.seed)).toEqual(schedule);
    expect(new Set(schedules.map(({ operations }) => JSON.stringify(operations))).size).toBe(SEEDS.length);
  });

  it("is in order of time", () => {
    for (const { operations, faults } of schedules) {
      for (const timed of [operations, faults]) {
        const instants = timed.map(({ atMs }) => atMs);
        expect(instants).toEqual(instants.toSorted((a, b) => a - b));
      }
    }
  });

  it("has one call for each of an owner's keys", () => {
    const calls = schedules.flatMap(({ operations }) =>
      operations.flatMap((each) => (each.kind === "create" && each.key !== undefined ? [each] : [])),
    );
    const named = new Set(calls.map(({ key, tool, work }) => JSON.stringify([key, tool, work])));
    expect(named.size).toBe(new Set(calls.map(({ key }) => key)).size);
  });
});

it.each([
  ["memory", ["pause", "throttle"]],
  ["sqlite", ["kill", "leave", "lock", "pause", "throttle"]],
  ["postgres", ["cut", "drop", "kill", "leave", "pause", "restart", "slow", "stall", "throttle"]],
] as const)("on %s everything breaks that can", (kind, expected) => {
  const faults = new Set<FaultKind>(SEEDS.flatMap((seed) => scheduleOf(kind, seed).faults.map((fault) => fault.kind)));
  expect([...faults].sort()).toEqual(expected);
});
