import { expect, test } from "vitest";
import { endOf } from "../../src/scripts/expire.js";

test.each([
  [undefined, 5, ["", ""]],
  [1000, 5, ["1005", "1004"]],
  [1000, 0, ["1000", "999"]],
  [1000.5, 5, ["1005.5", "1005"]],
  [8_999_999_999_999_000, 999, ["8999999999999999", "8999999999999998"]],
  [8_999_999_999_999_000, 1000, ["9000000000000000", ""]],
  [0, Number.MAX_VALUE, [String(Number.MAX_VALUE), ""]],
] as const)("a task that finished at %s with a ttl of %s ms ends at %j", (finishedAt, ttlMs, end) => {
  expect(endOf(finishedAt, ttlMs)).toEqual(end);
});
