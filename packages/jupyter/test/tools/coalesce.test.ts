import { FakeClock } from "@claimcheck/core/testing";
import { expect, test } from "vitest";
import { coalesce } from "../../src/tools/coalesce.js";

function setUp(costMs = 0) {
  const clock = new FakeClock(0);
  const ranAt: number[] = [];
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    ranAt.push(clock.now());
    if (costMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, costMs));
  };
  const coalescer = coalesce(work, { intervalMs: 100, clock, onError: (error) => errors.push(error) });
  return { clock, ranAt, errors, coalescer };
}

test("the first event is answered at once, those after it together", async () => {
  const { clock, ranAt, coalescer } = setUp();
  coalescer.mark();
  await clock.advance(0);
  for (let count = 0; count < 50; count++) coalescer.mark();
  await clock.advance(1_000);
  expect(ranAt).toEqual([0, 100]);
});

test("nothing runs while nothing happens", async () => {
  const { clock, ranAt, coalescer } = setUp();
  coalescer.mark();
  await clock.advance(60_000);
  expect(ranAt).toEqual([0]);
  expect(clock.pending).toBe(0);
});

test("work that takes long is done more rarely, and never twice at a time", async () => {
  const { clock, ranAt, coalescer } = setUp(500);
  coalescer.mark();
  await clock.advance(200);
  coalescer.mark();
  await clock.advance(10_000);
  expect(ranAt).toEqual([0, 5_500]);
});

test("an event during the work is not lost", async () => {
  const { clock, ranAt, coalescer } = setUp(50);
  coalescer.mark();
  await clock.advance(10);
  coalescer.mark();
  await clock.advance(1_000);
  expect(ranAt).toHaveLength(2);
});

test("after stop nothing runs any more", async () => {
  const { clock, ranAt, coalescer } = setUp();
  coalescer.mark();
  await clock.advance(0);
  coalescer.mark();
  coalescer.stop();
  coalescer.mark();
  await clock.advance(1_000);
  expect(ranAt).toEqual([0]);
  expect(clock.pending).toBe(0);
});

test("work that fails is told and tried again at the next event", async () => {
  const clock = new FakeClock(0);
  const errors: unknown[] = [];
  let tries = 0;
  const work = (): void => {
    tries++;
    throw new Error("disk full");
  };
  const coalescer = coalesce(work, { intervalMs: 100, clock, onError: (error) => errors.push(error) });
  coalescer.mark();
  await clock.advance(1_000);
  coalescer.mark();
  await clock.advance(1_000);
  expect(tries).toBe(2);
  expect(errors).toHaveLength(2);
});
