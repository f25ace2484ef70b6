import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frozenCopy } from "../src/frozen-copy.js";

/** Values with everything in them that JSON changes or leaves out. */
const anything = fc.anything({
  withBoxedValues: true,
  withDate: true,
  withNullPrototype: true,
  withSparseArray: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
});

function nested(levels: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level += 1) value = { list: [value, 1] };
  return value;
}

function isTakenByJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

describe("a frozen copy", () => {
  it("is what JSON would bring back, whatever the value", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const text = JSON.stringify(value);
        const copied = frozenCopy(value);
        expect(JSON.stringify(copied)).toBe(text);
        expect(copied).toEqual(text === undefined ? undefined : JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps a member named __proto__ as a member", () => {
    const copied = frozenCopy(JSON.parse('{"__proto__":{"x":1},"constructor":2}'));
    expect(JSON.stringify(copied)).toBe('{"__proto__":{"x":1},"constructor":2}');
    expect(Object.getPrototypeOf(copied)).toBe(Object.prototype);
  });

  it("cannot be changed, at any depth, and shares nothing with what it was made of", () => {
    const value = { list: [{ n: 1 }], deep: { er: {} } };
    const copied = frozenCopy(value);
    for (const part of [copied, copied.list, copied.list[0], copied.deep, copied.deep.er])
      expect(Object.isFrozen(part)).toBe(true);
    value.list.push({ n: 2 });
    expect(copied.list).toHaveLength(1);
    expect(Object.isFrozen(value.list)).toBe(false);
  });

  it("is made of what is nested as deeply as JSON takes it, and is frozen to the last level", () => {
    let levels = 20_000;
    while (!isTakenByJson(nested(levels))) levels = Math.floor(levels * 0.9);
    // The stack that is left is never quite the same.
    let part: unknown = frozenCopy(nested(Math.floor(levels * 0.9)));
    while (part !== "bottom") {
      expect(Object.isFrozen(part)).toBe(true);
      part = Array.isArray(part) ? part[0] : (part as { list: unknown[] }).list;
    }
  });

  it("is frozen to the last level where the stack is too short to make it", () => {
    let looks = 0;
    const value = {
      // How deep the stack is depends on how the engine has compiled the copying: here it ends at the first look.
      get list() {
        looks += 1;
        if (looks === 1) throw new RangeError("Maximum call stack size exceeded");
        return [{ n: 1 }];
      },
    };
    const copied = frozenCopy(value);
    expect(copied).toEqual({ list: [{ n: 1 }] });
    for (const part of [copied, copied.list, copied.list[0]]) expect(Object.isFrozen(part)).toBe(true);
  });

  it("refuses what JSON refuses", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => frozenCopy({ n: 1n })).toThrow(TypeError);
    expect(() => frozenCopy(circle)).toThrow(TypeError);
  });
});
