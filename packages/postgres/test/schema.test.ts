import { expect, test } from "vitest";
import { Schema } from "../src/schema.js";

test("a name is quoted, so that nothing in it is SQL", () => {
  const schema = new Schema('a"; DROP TABLE x; --');
  expect(schema.quoted).toBe('"a""; DROP TABLE x; --"');
  expect(schema.fill("SELECT * FROM {schema}.tasks")).toBe('SELECT * FROM "a""; DROP TABLE x; --".tasks');
});

test("a name that looks like a pattern of replacement is taken as it is", () => {
  expect(new Schema("$&{schema}").fill("{schema}.a {schema}.b")).toBe('"$&{schema}".a "$&{schema}".b');
});

test("different names have different channels and locks", () => {
  const schemas = ["claimcheck", "Claimcheck", "claimcheck "].map((name) => new Schema(name));
  expect(new Set(schemas.map((schema) => schema.channel)).size).toBe(3);
  expect(new Set(schemas.map((schema) => schema.lockId)).size).toBe(3);
  for (const { channel, lockId } of schemas) {
    expect(channel).toMatch(/^claimcheck_[0-9a-f]{32}$/);
    expect(BigInt.asIntN(64, BigInt(lockId))).toBe(BigInt(lockId));
  }
});

test.each([
  ["a lone surrogate", "\ud800"],
  ["64 bytes", "é".repeat(32)],
])("a name with %s is refused", (_what, name) => {
  expect(() => new Schema(name)).toThrow("has no usable name");
});
