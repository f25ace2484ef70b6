import fc from "fast-check";
import { describe, expect, it } from "vitest";
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

  it("takes out a hundred thousand as fast each as one", () => {
    const fifo = new Fifo<number>();
    for (let n = 0; n < 100_000; n += 1) fifo.push(n);
    const began = performance.now();
    let inOrder = 0;
    for (let n = 0; n < 100_000; n += 1) if (fifo.shift() === n) inOrder += 1;
    expect(performance.now() - began).toBeLessThan(200);
    expect(inOrder).toBe(100_000);
    expect(fifo.shift()).toBeUndefined();
  });
});
