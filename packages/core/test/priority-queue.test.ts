import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PriorityQueue } from "../src/priority-queue.js";

const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant("take" as const)), { maxLength: 200 });

describe("a priority queue", () => {
  it("always gives the least that it holds", () => {
    fc.assert(
      fc.property(steps, (todo) => {
        const queue = new PriorityQueue<number>((n) => n);
        let model: number[] = [];
        for (const step of todo) {
          if (step === "take") {
            model.sort((a, b) => a - b);
            expect(queue.peek()).toBe(model[0]);
            expect(queue.pop()).toBe(model[0]);
            model = model.slice(1);
          } else {
            queue.push(step);
            model.push(step);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });
});
