import { expect, test } from "vitest";
import { lastWords } from "../../src/tools/last-words.js";

const text = (words: string) => ({ type: "text", text: words }) as const;

test.each([
  ["the last line", [text("a"), text("b\nc")], "c"],
  ["no empty line", [text("a\n\n  \n")], "a"],
  ["an image by its type", [text("a"), { type: "image", data: "", mimeType: "image/png" } as const], "[image/png]"],
  ["nothing where there is nothing", [], ""],
  ["nothing of white space", [text(" \n")], ""],
])("%s", (_, content, words) => {
  expect(lastWords(content)).toBe(words);
});

test("a long line is cut, and never inside a character", () => {
  const words = lastWords([text("🙂".repeat(200))]);
  expect(words.length).toBeLessThanOrEqual(160);
  expect(words.endsWith("…")).toBe(true);
  expect(words.isWellFormed()).toBe(true);
});
