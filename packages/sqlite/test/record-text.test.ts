import { describe, expect, test } from "vitest";
import { placementOf, recordOf, searchable, textsOf } from "../src/record-text.js";
import { completion, sampleTask } from "./sample-task.js";

describe("a record as texts", () => {
  test("keeps payloads out of the head", () => {
    const secret = "s".repeat(100);
    const task = sampleTask({ arguments: { secret }, partialOutput: [secret], checkpoint: secret });
    const { head, ...payloads } = textsOf({ ...task, ...completion() } as never);
    expect(head).not.toContain(secret);
    expect(Object.keys(payloads).sort()).toEqual(["arguments", "checkpoint", "outcome", "partialOutput"]);
  });

  test("is plain ASCII where SQLite's text is not exact", () => {
    const { arguments: text } = textsOf(sampleTask({ arguments: { nul: "a\0b", lone: "\ud800" } }));
    expect(text).toBe('{"nul":"a\\u0000b","lone":"\\ud800"}');
  });

  test("is refused when a payload has gone", () => {
    const task = { ...sampleTask(), ...completion() };
    const texts = textsOf(task as never);
    expect(() => recordOf({ ...texts, outcome: null })).toThrow(`The payload of task ${task.taskId} is missing`);
    expect(() => recordOf({ ...texts, arguments: null })).toThrow("is missing");
    expect(recordOf(texts)).toEqual(task);
  });
});

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
