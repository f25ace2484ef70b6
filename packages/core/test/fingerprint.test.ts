import { fingerprint, isTaskError, type JsonObject, MAX_IDEMPOTENCY_KEY_LENGTH } from "@claimcheck/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertArguments, checkIdempotencyKey } from "../src/fingerprint.js";

const parse = (json: string): JsonObject => JSON.parse(json) as JsonObject;
const same = (a: string, b: string): boolean => fingerprint("t", parse(a)) === fingerprint("t", parse(b));

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return isTaskError(error) ? error.code : String(error);
  }
  return undefined;
}

describe("the same call", () => {
  it.each([
    ["members in another order", '{"a":1,"b":2}', '{"b":2,"a":1}'],
    [
      "members of objects inside arrays in another order",
      '{"a":[{"x":1,"y":[{"p":1,"q":2}]}]}',
      '{"a":[{"y":[{"q":2,"p":1}],"x":1}]}',
    ],
    ["integer-like and empty names in another order", '{"10":1,"9":2,"a":3,"":4}', '{"":4,"a":3,"9":2,"10":1}'],
    ["other white space", '{"a":1}', ' {\n "a" : 1 }'],
    ["1, 1.0 and 1e0", '{"n":1}', '{"n":1.0}'],
    ["an exponent", '{"n":100}', '{"n":1e2}'],
    ["minus zero", '{"n":0}', '{"n":-0}'],
    ["integers that JSON makes the same number", '{"n":9007199254740992}', '{"n":9007199254740993}'],
    ["an escape for the character itself", '{"s":"\\u00e9"}', '{"s":"é"}'],
  ])("%s", (_what, a, b) => expect(same(a, b)).toBe(true));

  it("is the same however the members of any arguments are ordered", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ noUnicodeString: false })), (args) => {
        const turned = Object.fromEntries(Object.entries(args).reverse());
        expect(fingerprint("t", turned as JsonObject)).toBe(fingerprint("t", args as JsonObject));
      }),
    );
  });
});

describe("another call", () => {
  it.each([
    ["an array in another order", '{"a":[1,2]}', '{"a":[2,1]}'],
    ["a number for its text", '{"a":5}', '{"a":"5"}'],
    ["null for nothing", '{"a":null}', "{}"],
    ["a composed for a decomposed character", '{"s":"é"}', '{"s":"e\\u0301"}'],
    ["a member named __proto__", "{}", '{"__proto__":{"x":1}}'],
    ["a member named constructor", "{}", '{"constructor":1}'],
    ["a NUL", '{"s":"a"}', '{"s":"a\\u0000"}'],
  ])("%s", (_what, a, b) => expect(same(a, b)).toBe(false));

  it("is one of another tool", () => {
    expect(fingerprint("a", {})).not.toBe(fingerprint("b", {}));
  });

  it("leaves Object.prototype alone", () => {
    fingerprint("t", parse('{"__proto__":{"polluted":1}}'));
    expect("polluted" in {}).toBe(false);
  });

  it("lone surrogates, which all encode alike, are refused rather than confused", () => {
    for (const value of ["\ud800", "\ud801", "a\udc00"])
      expect(codeOf(() => fingerprint("t", { value }))).toBe("invalid_arguments");
    expect(codeOf(() => fingerprint("t", { "\ud800": 1 }))).toBe("invalid_arguments");
    expect(fingerprint("t", { value: "\ufffd" })).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("arguments that are accepted", () => {
  const nested = (depth: number): JsonObject => {
    let inner: JsonObject = {};
    for (let level = 1; level < depth; level += 1) inner = { inner };
    return inner;
  };

  it("200 levels deep are accepted, 201 are not, and a million overflow no stack", () => {
    expect(codeOf(() => assertArguments(nested(200), 1e6))).toBeUndefined();
    expect(codeOf(() => assertArguments(nested(201), 1e6))).toBe("invalid_arguments");
    expect(codeOf(() => assertArguments(nested(1_000_000), 1e8))).toBe("invalid_arguments");
  });

  it("a number beyond JSON's, as 1e400 on the wire, is refused and never becomes null", () => {
    expect(codeOf(() => assertArguments(parse('{"n":[1e400]}'), 1e6))).toBe("invalid_arguments");
    expect(codeOf(() => assertArguments({ n: Number.NaN }, 1e6))).toBe("invalid_arguments");
  });

  it("what JSON cannot write is refused: circles, big integers, anything that is no object", () => {
    const circle: JsonObject = {};
    circle.self = circle;
    for (const args of [circle, { n: 1n }, [1], null, "{}"] as unknown[])
      expect(codeOf(() => assertArguments(args as JsonObject, 1e6))).toBe("invalid_arguments");
  });

  it("one object held a thousand million times over is refused without walking it so often", () => {
    let wide: JsonObject = {};
    for (let level = 0; level < 30; level += 1) wide = { a: wide, b: wide };
    expect(codeOf(() => assertArguments(wide, 1e5))).toBe("invalid_arguments");
  });

  it("the limit is in bytes of JSON", () => {
    expect(codeOf(() => assertArguments({ a: "é".repeat(10) }, 28))).toBeUndefined();
    expect(codeOf(() => assertArguments({ a: "é".repeat(10) }, 27))).toBe("invalid_arguments");
  });
});

describe("idempotency keys", () => {
  it.each(["k", " k ", "__proto__", "constructor", "a\u0000b", "😀", "x".repeat(MAX_IDEMPOTENCY_KEY_LENGTH)])(
    "%j is a key, kept as it is",
    (key) => expect(checkIdempotencyKey(key)).toBe(key),
  );

  it.each([
    ["", "blank"],
    [" \n", "blank"],
    [5, "number"],
    [true, "boolean"],
    [null, "null"],
    [{}, "object"],
    [["a"], "array"],
    ["x".repeat(MAX_IDEMPOTENCY_KEY_LENGTH + 1), "256"],
    ["x".repeat(1_000_000), "1000000"],
    ["\ud800", "surrogate"],
  ])("refuses %j, saying why", (key, why) => {
    expect(codeOf(() => checkIdempotencyKey(key))).toBe("invalid_idempotency_key");
    expect(() => checkIdempotencyKey(key)).toThrow(why);
  });
});
