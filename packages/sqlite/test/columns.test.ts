import { describe, expect, test } from "vitest";
import { placementOf, searchable } from "../src/columns.js";

describe("the placement of payloads", () => {
  test("puts small ones into the row and large ones apart", () => {
    const large = "x".repeat(801);
    expect(placementOf({ arguments: "{}", outcome: large, partialOutput: null })).toEqual({
      inRow: ["{}", null, null, null],
      apart: 0b0010,
    });
    expect(placementOf({ checkpoint: large, arguments: large }).apart).toBe(0b1001);
    expect(placementOf({ arguments: "x".repeat(800) }).apart).toBe(0);
  });

  test("leaves where it is what does not change", () => {
    const large = "x".repeat(801);
    const before = placementOf({ arguments: "{}", outcome: null, partialOutput: large, checkpoint: large });
    expect(placementOf({}, before)).toEqual(before);
    expect(placementOf({ checkpoint: "1", outcome: large }, before)).toEqual({
      inRow: ["{}", null, null, "1"],
      apart: 0b0110,
    });
    expect(placementOf({ partialOutput: null }, before).apart).toBe(0b1000);
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
