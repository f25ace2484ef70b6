import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { MIGRATIONS, SCHEMA_VERSION } from "../src/migrations.js";

/** Digests of the steps that have been released. A step is added here when it is; none is ever changed. */
const RELEASED = ["bee47c8b85bee39019c642fd13d5fe2a99ec5bac87fa39e0991f122050e7c640"];

test("a step that has been released never changes", () => {
  const digests = MIGRATIONS.map(({ sql }) => createHash("sha256").update(sql).digest("hex"));
  expect(digests).toEqual(RELEASED);
});

test("steps are numbered one after the other", () => {
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(RELEASED.map((_, index) => index + 1));
  expect(SCHEMA_VERSION).toBe(RELEASED.length);
});
