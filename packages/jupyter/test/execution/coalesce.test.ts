import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { Coalescer } from "../../src/execution/coalesce.js";

function coalescer(work: () => void | Promise<void>) {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const it = new Coalescer({ work, intervalMs: 100, clock, onError: (error) => errors.push(error) });
  return { clock, errors, it };
}

describe("a coalescer", () => {
  it("works soon after the first mark, and once for all marks of an interval", async () => {
    let runs = 0;
    const { clock, it: marks } = coalescer(() => void runs++);
    marks.mark();
    await clock.advance(0);
    expect(runs).toBe(1);
    for (let i = 0; i < 50; i++) marks.mark();
    await clock.advance(99);
    expect(runs).toBe(1);
    await clock.advance(1);
    expect(runs).toBe(2);
    await clock.advance(1_000);
    expect(runs).toBe(2);
    expect(clock.pending).toBe(0);
  });

  it("does not start work while the last is under way, and rests nine times as long as it took", async () => {
    let finish = () => {};
    let runs = 0;
    const { clock, it: marks } = coalescer(() => {
      runs++;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    marks.mark();
    await clock.advance(0);
    marks.mark();
    await clock.advance(200);
    finish();
    await settle();
    await clock.advance(1_799);
    expect(runs).toBe(1);
    await clock.advance(1);
    expect(runs).toBe(2);
  });

  it("forgets marks at a reset, and takes later ones", async () => {
    let runs = 0;
    const { clock, it: marks } = coalescer(() => void runs++);
    marks.mark();
    marks.reset();
    await clock.advance(1_000);
    expect(runs).toBe(0);
    marks.mark();
    await clock.advance(0);
    expect(runs).toBe(1);
  });

  it("reports work that fails, and goes on", async () => {
    let runs = 0;
    const {
      clock,
      errors,
      it: marks,
    } = coalescer(() => {
      if (runs++ === 0) throw new Error("no");
    });
    marks.mark();
    await clock.advance(0);
    marks.mark();
    await clock.advance(100);
    expect(errors).toEqual([new Error("no")]);
    expect(runs).toBe(2);
  });
});
