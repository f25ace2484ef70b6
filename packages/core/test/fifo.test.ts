import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../test/fixtures/growth.js";
import { Fifo } from "../src/fifo.js";

const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant("take" as const)), { maxLength: 200 });

describe("a fifo", () => {
  it("gives back in the order that it was given", () => {
    fc.assert(
      fc.property(steps, (todo) => {
        const fifo = new Fifo<number>();
        const model: number[] = [];
        for (const step of todo) {
          if (step === "take") expect(fifo.shift()).toBe(model.shift());
          else {
            fifo.push(step);
            model.push(step);
          }
          expect(fifo.size).toBe(model.length);
        }
      }),
    );
  });

  it("takes out one of a hundred thousand at the cost of one of a few", async () => {
    const growth = await costGrowth(5000, 100_000, (steps) => {
      const fifo = new Fifo<number>();
      for (let n = 0; n < steps; n += 1) fifo.push(n);
      for (let n = 0; n < steps; n += 1) if (fifo.shift() !== n) throw new Error("out of order");
    });
    expect(growth).toBeLessThan(5);
  });
});
