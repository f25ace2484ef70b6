import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../test/fixtures/growth.js";
import { comparePositions } from "../src/cursor.js";
import { type Ordered, TaskOrder } from "../src/task-order.js";

const entry = fc.record({ createdAt: fc.integer({ min: 0, max: 5 }), taskId: fc.string({ maxLength: 2 }) });
const step = fc.oneof(
  { weight: 3, arbitrary: entry },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat({ max: 400 }) }) },
);

describe("a task order", () => {
  it("lists as a sorted array does, from the newest or after any position", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), entry, (steps, position) => {
        const order = new TaskOrder<Ordered>();
        let model: Ordered[] = [];
        for (const todo of steps) model = play(order, model, todo);
        const sorted = [...model].sort((a, b) => comparePositions(b, a));
        expect(order.size).toBe(model.length);
        expect([...order.newestFirst(undefined)]).toEqual(sorted);
        expect([...order.newestFirst(position)]).toEqual(sorted.filter((at) => comparePositions(at, position) < 0));
      }),
    );
  });

  it("forgets what was removed, so that listing costs no more after a long churn of tasks", async () => {
    const growth = await costGrowth(2000, 50_000, (steps) => {
      const order = new TaskOrder<Ordered>();
      const held: Ordered[] = [];
      for (let n = 0; n < steps; n += 1) {
        const added = { createdAt: n, taskId: `t${n}`, removed: false };
        order.add(added);
        held.push(added);
        const oldest = held.length > 20 ? held.shift() : undefined;
        if (oldest === undefined) continue;
        oldest.removed = true;
        order.forget();
        if ([...order.newestFirst(undefined)].length !== 20) throw new Error("lost one");
      }
    });
    expect(growth).toBeLessThan(5);
  });
});

function play(order: TaskOrder<Ordered>, model: Ordered[], todo: Step): Ordered[] {
  if ("remove" in todo) {
    const gone = model[todo.remove % Math.max(1, model.length)];
    if (gone === undefined) return model;
    gone.removed = true;
    order.forget();
    return model.filter((kept) => kept !== gone);
  }
  if (model.some((held) => comparePositions(held, todo) === 0)) return model;
  const added = { ...todo, removed: false };
  order.add(added);
  return [...model, added];
}

type Step = { createdAt: number; taskId: string } | { remove: number };
