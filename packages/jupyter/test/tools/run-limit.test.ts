import { FakeClock, settle } from "@claimcheck/core/testing";
import { expect, test } from "vitest";
import type { CancelReport } from "../../src/kernel/index.js";
import { RunLimit } from "../../src/tools/run-limit.js";

function limited(
  ms: number | undefined,
  outcome: CancelReport["outcome"] = "stopped",
  startedAt: number | null = null,
) {
  const clock = new FakeClock(0);
  let begin = (): void => {};
  let end = (): void => {};
  let cancels = 0;
  const run = {
    startedAt,
    begun: new Promise<void>((resolve) => {
      begin = resolve;
    }),
    ended: new Promise<void>((resolve) => {
      end = resolve;
    }),
    cancel: async () => {
      cancels++;
      return { outcome, idleSeen: true, elapsedMs: 0, interruptsSent: 1 } as CancelReport;
    },
  };
  const limit = new RunLimit(run, ms, clock);
  let wasIgnored = false;
  void limit.ignored.then(() => {
    wasIgnored = true;
  });
  return { clock, begin: () => begin(), end: () => end(), limit, cancels: () => cancels, wasIgnored: () => wasIgnored };
}

test("a run is interrupted when it has run for that long, counted from when the kernel began with it", async () => {
  const { clock, begin, limit, cancels, wasIgnored } = limited(10_000);
  await clock.advance(60_000);
  expect(cancels()).toBe(0);
  begin();
  await clock.advance(9_999);
  expect([cancels(), limit.hasPassed]).toEqual([0, false]);
  await clock.advance(1);
  expect([cancels(), limit.hasPassed, wasIgnored()]).toEqual([1, true, false]);
});

test("a run that began before it was followed has that time left which it has not run for", async () => {
  const { clock, begin, cancels } = limited(10_000, "stopped", -7_000);
  begin();
  await clock.advance(2_999);
  expect(cancels()).toBe(0);
  await clock.advance(1);
  expect(cancels()).toBe(1);
});

test("a run that has had its time before it is followed is interrupted at once", async () => {
  const { clock, begin, cancels } = limited(10_000, "stopped", -60_000);
  begin();
  await settle();
  await clock.advance(0);
  expect(cancels()).toBe(1);
});

test("a run that ends in time is left alone, and leaves no timer", async () => {
  const { clock, begin, end, limit, cancels } = limited(10_000);
  begin();
  await settle();
  end();
  await clock.advance(60_000);
  expect([cancels(), limit.hasPassed, clock.pending]).toEqual([0, false, 0]);
});

test("a run that ends as it begins leaves no timer", async () => {
  const { clock, begin, end, cancels } = limited(10_000);
  end();
  begin();
  await clock.advance(60_000);
  expect([cancels(), clock.pending]).toEqual([0, 0]);
});

test("a kernel that ignores the interrupt is reported", async () => {
  const { clock, begin, wasIgnored } = limited(1_000, "interrupt_ignored");
  begin();
  await clock.advance(1_000);
  expect(wasIgnored()).toBe(true);
});

test("without a limit there is no timer", async () => {
  const { clock, begin } = limited(undefined);
  begin();
  await settle();
  expect(clock.pending).toBe(0);
});
