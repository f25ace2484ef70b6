import { comparePositions, decodeCursor, encodeCursor, isTaskError, pageOf, summarize } from "@claimcheck/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { workingTask } from "../../../test/fixtures/working-task.js";

const position = fc.record({ createdAt: fc.integer({ min: 0, max: 2 ** 45 }), taskId: fc.string() });

describe("cursors", () => {
  it("bring back the position that they were made of", () => {
    fc.assert(
      fc.property(position, (at) => {
        expect(decodeCursor(encodeCursor(at))).toEqual(at);
      }),
    );
  });

  it("refuse whatever they did not make", () => {
    const garbage = fc.oneof(
      fc.string(),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString("base64url")),
      fc.constantFrom("", "__proto__", "=".repeat(10_000), `${encodeCursor({ createdAt: 1, taskId: "a" })}=`),
    );
    fc.assert(
      fc.property(garbage, (cursor) => {
        try {
          expect(encodeCursor(decodeCursor(cursor))).toBe(cursor);
        } catch (error) {
          expect(isTaskError(error) && error.code).toBe("invalid_cursor");
        }
      }),
    );
    expect(() => decodeCursor("nonsense")).toThrow(/leave it out/);
  });
});

describe("the order of a listing", () => {
  it("is total: by instant, then by id", () => {
    fc.assert(
      fc.property(position, position, (a, b) => {
        expect(Math.sign(comparePositions(a, b))).toBe(-Math.sign(comparePositions(b, a)) + 0);
        if (comparePositions(a, b) === 0) expect(a).toEqual(b);
        if (a.createdAt < b.createdAt) expect(comparePositions(a, b)).toBeLessThan(0);
      }),
    );
  });
});

describe("a page", () => {
  it("goes on after its last task where there is one more, and nowhere else", () => {
    const tasks = ["c", "b", "a"].map((taskId) => summarize(workingTask({ taskId, createdAt: 1 })));
    expect(pageOf(tasks, 3)).toEqual({ tasks });
    expect(pageOf(tasks, 2)).toEqual({
      tasks: tasks.slice(0, 2),
      nextCursor: encodeCursor({ createdAt: 1, taskId: "b" }),
    });
    expect(pageOf([], 2)).toEqual({ tasks: [] });
  });
});
