import { FakeClock } from "@claimcheck/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../test/fixtures/growth.js";
import { type Deadline, Deadlines } from "../src/deadlines.js";

const DAY = 24 * 60 * 60_000;

describe("deadlines", () => {
  it("come in their order, each once, whatever is set and cancelled in between", async () => {
    const steps = fc.array(
      fc.record({
        inMs: fc.integer({ min: 0, max: 300 }),
        cancels: fc.option(fc.nat({ max: 200 })),
        waitMs: fc.constantFrom(0, 0, 0, 7),
      }),
      { maxLength: 100 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const clock = new FakeClock(0);
        const deadlines = new Deadlines(clock);
        const set: { at: number; deadline: Deadline; state: "open" | "cancelled" | "came" }[] = [];
        const came: number[] = [];
        for (const { inMs, cancels, waitMs } of todo) {
          const at = clock.now() + inMs;
          const entry = { at, state: "open" as "open" | "cancelled" | "came", deadline: { cancel: (): void => {} } };
          entry.deadline = deadlines.at(at, () => {
            expect(entry.state).toBe("open");
            expect(clock.now()).toBe(at);
            entry.state = "came";
            came.push(at);
          });
          set.push(entry);
          const target = cancels === null ? undefined : set[cancels];
          target?.deadline.cancel();
          if (target?.state === "open") target.state = "cancelled";
          if (waitMs > 0) await clock.advance(waitMs);
        }
        await clock.advance(1000);
        expect(set.filter(({ state }) => state === "open")).toEqual([]);
        expect(came).toEqual([...came].sort((a, b) => a - b));
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it("any number of them take one timer", () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    for (let n = 0; n < 1000; n += 1) deadlines.at(clock.now() + 1 + ((n * 7919) % 1000), () => {});
    expect(clock.pending).toBe(1);
  });

  it("those that are cancelled leave nothing behind, while another one stands", async () => {
    const growth = await costGrowth(2000, 50_000, (steps) => {
      const deadlines = new Deadlines(new FakeClock());
      deadlines.at(10 ** 15, () => {});
      for (let n = 0; n < steps; n += 1) deadlines.at(10 ** 14 + n, () => {}).cancel();
    });
    expect(growth).toBeLessThan(5);
  });

  it("when all are cancelled, no timer is left", () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const set = Array.from({ length: 100 }, (_, n) => deadlines.at(clock.now() + DAY + n, () => {}));
    for (const deadline of set) deadline.cancel();
    expect(clock.pending).toBe(0);
  });

  it("one that throws does not take the others with it", async () => {
    const clock = new FakeClock(0);
    const deadlines = new Deadlines(clock);
    let came = 0;
    deadlines.at(5, () => {
      throw new Error("mine");
    });
    deadlines.at(5, () => {
      came += 1;
    });
    await expect(clock.advance(10)).rejects.toThrow("mine");
    await clock.advance(10);
    expect(came).toBe(1);
  });

  it("one that is set or cancelled by another is honoured", async () => {
    const clock = new FakeClock(0);
    const deadlines = new Deadlines(clock);
    const came: string[] = [];
    const doomed = deadlines.at(10, () => came.push("doomed"));
    deadlines.at(10, () => {
      doomed.cancel();
      deadlines.at(10, () => came.push("at once"));
    });
    const first = deadlines.at(5, () => doomed.cancel());
    first.cancel();
    await clock.advance(20);
    expect(came).toContain("at once");
  });

  it("are not early however far away: 30 days, 400 days, the largest safe integer", async () => {
    const clock = new FakeClock(0);
    const deadlines = new Deadlines(clock);
    const came: number[] = [];
    for (const at of [400 * DAY, 30 * DAY, Number.MAX_SAFE_INTEGER]) deadlines.at(at, () => came.push(at));
    await clock.advance(30 * DAY - 1);
    expect(came).toEqual([]);
    await clock.advance(371 * DAY);
    expect(came).toEqual([30 * DAY, 400 * DAY]);
  });
});
