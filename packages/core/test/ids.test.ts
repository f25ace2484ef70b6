import { describe, expect, it } from "vitest";
import { newRunnerId, newTaskId } from "../src/ids.js";

describe.each([
  ["a task, which nobody is to guess", newTaskId, 128],
  ["a process, which no other is to have", newRunnerId, 72],
])("the id of %s", (_what, newId, bits) => {
  it(`has ${bits} random bits, of which none is always the same`, () => {
    const ids = Array.from({ length: 2000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    const bytes = ids.map((id) => Buffer.from(id.slice(id.indexOf("_") + 1), "base64url"));
    for (const each of bytes) expect(each.length).toBe(bits / 8);
    for (let bit = 0; bit < bits; bit += 1) {
      const set = bytes.filter((each) => ((each[bit >> 3] ?? 0) >> (bit & 7)) & 1).length;
      expect(set).toBeGreaterThan(800);
      expect(set).toBeLessThan(1200);
    }
  });
});
