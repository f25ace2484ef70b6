import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { MIGRATIONS, SCHEMA_VERSION } from "../src/migrations.js";

/** Digests of the steps that have been released. A step is added here when it is; none is ever changed. */
const RELEASED = ["7f7fcbfca66b1e8b5c46443c3acbfa5c97be3c81fdd3d9276551f29bed19cdb7"];

test("a step that has been released never changes", () => {
  const digests = MIGRATIONS.map(({ sql }) => createHash("sha256").update(sql).digest("hex"));
  expect(digests).toEqual(RELEASED);
});

test("steps are numbered one after the other", () => {
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(RELEASED.map((_, index) => index + 1));
  expect(SCHEMA_VERSION).toBe(RELEASED.length);
});
