import { comparePositions, isTaskError } from "@claimcheck/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { INSTANT_LENGTH, Keys, OWNER_LENGTH, orderOf, ownerDigest } from "../src/keys.js";

const keys = new Keys("claimcheck");

test("all keys carry one hash tag", () => {
  const names = [
    keys.task("a{b}"),
    keys.ownerBase,
    keys.holder(ownerDigest("{x}"), "{y}"),
    keys.everybody,
    keys.unfinished,
  ];
  for (const name of [...names, keys.expiry, keys.channel]) expect(name).toMatch(/^\{claimcheck\}:/);
});

test("owner and key never run into one another", () => {
  const separators = [":", "/", "|", "\0", "\n", "{", "}", "\\"];
  const pairs = separators.flatMap(
    (s) =>
      [
        [`a${s}b`, "c"],
        ["a", `b${s}c`],
        [`a${s}`, "b"],
        ["a", `${s}b`],
      ] as const,
  );
  expect(new Set(pairs.map(([owner, key]) => keys.holder(ownerDigest(owner), key))).size).toBe(pairs.length);
});

test("the order of a task sorts like its place in a listing", () => {
  const instant = fc.oneof(
    fc.integer({ min: 0, max: 2 ** 52 }),
    fc.double({ noNaN: true }).map((n) => n + 0),
  );
  const position = fc.record({ createdAt: instant, taskId: fc.stringMatching(/^[\w-]{1,20}$/) });
  fc.assert(
    fc.property(position, position, (a, b) => {
      const byBytes = Buffer.compare(Buffer.from(orderOf(a)), Buffer.from(orderOf(b)));
      expect(byBytes).toBe(Math.sign(comparePositions(a, b)));
    }),
  );
});

test("the parts of an order and of an expiry have the lengths that the scripts cut at", () => {
  expect(orderOf({ createdAt: Date.now(), taskId: "tsk_1" })).toHaveLength(INSTANT_LENGTH + 5);
  for (const owner of ["", "a", "x".repeat(10_000)]) expect(ownerDigest(owner)).toHaveLength(OWNER_LENGTH);
});

test.each(["", "a{b", "a}b", "\ud800"])("the prefix %j is refused", (prefix) => {
  try {
    new Keys(prefix);
    expect.unreachable();
  } catch (error) {
    expect(isTaskError(error) && error.code).toBe("store_unusable");
  }
});
