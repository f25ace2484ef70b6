import { describeError } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { boundedText } from "../src/status-message.js";

describe("what is logged of an error", () => {
  it("is its name and message, and those of its causes", () => {
    const error = new TypeError("outer", { cause: new Error("inner", { cause: "deepest" }) });
    expect(describeError(error)).toBe("TypeError: outer (cause: Error: inner (cause: deepest))");
  });

  it("ends where causes go round in a circle", () => {
    const error = new Error("round");
    error.cause = error;
    expect(describeError(error).match(/round/g)).toHaveLength(5);
  });

  it.each([
    [undefined, "undefined"],
    [null, "null"],
    ["text", "text"],
    [Object.create(null), "a value that has no text"],
  ])("of %j, which is none, is what can be said of it", (thrown, said) => {
    expect(describeError(thrown)).toBe(said);
  });
});

describe("a status message", () => {
  it("is cut with an ellipsis, never inside a character", () => {
    expect(boundedText("x".repeat(1000))).toHaveLength(1000);
    expect(boundedText("x".repeat(1001))).toBe(`${"x".repeat(999)}…`);
    expect(boundedText(`${"x".repeat(998)}😀😀`)).toBe(`${"x".repeat(998)}…`);
  });
});
