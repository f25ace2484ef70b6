import { indexKey } from "@claimcheck/core";
import { expect, test } from "vitest";

test("an ordinary text is its own key", () => {
  expect(indexKey("tsk_aZ0-9")).toBe("tsk_aZ0-9");
  expect(indexKey("ада 🧾")).toBe("ада 🧾");
});

test("different texts have different keys, whatever they are made of", () => {
  const escapes = ["\0", "\\u0000", "\\\\u0000", "\ud800", "\\ud800", "\ufffd", "\\", '"', '\\"', "\n", "\\n", ""];
  const long = ["a".repeat(513), "b".repeat(513), `${"a".repeat(512)}\0`];
  const texts = [...escapes, ...long, ...long.map(indexKey)];
  expect(new Set(texts.map(indexKey)).size).toBe(texts.length);
});

test("a key holds no NUL and no lone surrogate", () => {
  const key = indexKey("a\0b\ud800c");
  expect(key.includes("\0")).toBe(false);
  expect(key.isWellFormed()).toBe(true);
});

test("a key has at most 512 bytes", () => {
  for (const text of ["x".repeat(100_000), "🧾".repeat(300), "\0".repeat(500)]) {
    expect(Buffer.byteLength(indexKey(text))).toBeLessThanOrEqual(512);
  }
});
