import { describe, expect, test } from "vitest";
import { placementOf, searchable } from "../src/columns.js";

describe("the placement of payloads", () => {
  const large = "x".repeat(801);

  test("puts small ones into the row and large ones apart", () => {
    expect(placementOf({ arguments: "{}", outcome: large })).toMatchObject({
      inRow: ["{}", null, null, null],
      apart: 0b0010,
    });
    expect(placementOf({ checkpoint: large, arguments: large }).apart).toBe(0b1001);
    expect(placementOf({ arguments: "x".repeat(800) }).apart).toBe(0);
  });

  test("writes what is given, also what is to go, and no other", () => {
    expect(placementOf({ arguments: "{}", outcome: large, partialOutput: null }).written).toBe(0b0111);
    expect(placementOf({})).toEqual({ inRow: [null, null, null, null], apart: 0, written: 0 });
  });
});

describe("a name that is searched by", () => {
  test("is itself where text is exact", () => {
    for (const name of ["", "owner", "Ωmega 🧾", "a'b", 'a"b', "\\u0000", "\n"]) expect(searchable(name)).toBe(name);
  });

  test("never becomes another name", () => {
    const names = [
      "a",
      "a\0",
      "a\0b",
      "\ud800",
      "\ud801",
      "\udc00\ud800",
      "\ufffd",
      '"a\\u0000"',
      '"\\ud800"',
      '"a"',
      '"',
    ];
    expect(new Set(names.map(searchable)).size).toBe(names.length);
    for (const name of names) expect(searchable(name)).not.toMatch(/\0|\p{Surrogate}/u);
  });
});
