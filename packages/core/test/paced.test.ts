import { FakeClock } from "@claimcheck/core/testing";
import { expect, it } from "vitest";
import { Paced } from "../src/paced.js";

function paced() {
  const clock = new FakeClock(0);
  const doneAt: number[] = [];
  const work = new Paced({ clock, intervalMs: 50, work: () => void doneAt.push(clock.now()) });
  return { clock, doneAt, work };
}

it("does it at once, and what is asked for meanwhile once, when the interval has passed", async () => {
  const { clock, doneAt, work } = paced();
  work.ask();
  expect(doneAt).toEqual([0]);
  await clock.advance(10);
  for (let n = 0; n < 100; n += 1) work.ask();
  await clock.advance(1000);
  expect(doneAt).toEqual([0, 50]);
  expect(clock.pending).toBe(0);
  work.ask();
  expect(doneAt).toEqual([0, 50, 1010]);
});

it("does nothing more once it is stopped, until it is asked again", async () => {
  const { clock, doneAt, work } = paced();
  work.ask();
  work.ask();
  work.stop();
  expect(clock.pending).toBe(0);
  await clock.advance(1000);
  work.ask();
  expect(doneAt).toEqual([0, 1000]);
});
