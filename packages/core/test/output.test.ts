import type { JsonValue } from "@claimcheck/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundOutputs } from "../src/output.js";

const size = (outputs: JsonValue[]): number => Buffer.byteLength(JSON.stringify(outputs));
const markers = (outputs: JsonValue[]): string[] =>
  outputs.flatMap((output) => (JSON.stringify(output).includes("dropped here") ? [JSON.stringify(output)] : []));

describe("outputs within the limit", () => {
  it("are kept as they are, in a copy that nobody else holds", () => {
    const outputs: JsonValue[] = ["a", { type: "text", text: "b" }, 1, null, [true]];
    const bounded = boundOutputs(outputs, 1000);
    expect(bounded).toEqual({ outputs, bytes: size(outputs), dropped: 0 });
    expect(bounded.outputs[1]).not.toBe(outputs[1]);
  });

  it("what JSON cannot carry is replaced by what JSON makes of it, or by a text that says so", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const throwing = {
      toJSON: () => {
        throw null;
      },
    };
    const strange = [undefined, () => 1, 1n, circle, Number.NaN, "\ud800", throwing] as unknown as JsonValue[];
    const { outputs } = boundOutputs(strange, 10_000);
    expect(outputs.slice(0, 2)).toEqual([null, null]);
    expect(outputs[2]).toContain("JSON cannot carry");
    expect(outputs[3]).toContain("JSON cannot carry");
    expect(outputs.slice(4, 6)).toEqual([null, "\ud800"]);
    expect(outputs[6]).toContain("JSON cannot carry");
  });
});

describe("outputs beyond the limit", () => {
  it("keep the head and the tail, and say in between how much was cut", () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => `line ${n}`);
    const { outputs, bytes, dropped } = boundOutputs(lines, 4096);
    expect(bytes).toBe(size(outputs));
    expect(bytes).toBeLessThanOrEqual(4096);
    expect(outputs[0]).toBe("line 0");
    expect(outputs.at(-1)).toBe("line 9999");
    expect(markers(outputs)).toEqual([expect.stringContaining(`${dropped} bytes`)]);
    const kept = outputs.filter((output) => typeof output === "string");
    expect(dropped).toBe(size(lines) - size(kept));
  });

  it("one line of 50 MB keeps its beginning and its end", () => {
    const line = `begin ${"x".repeat(50_000_000)} end`;
    const { outputs, bytes, dropped } = boundOutputs([line], 100_000);
    expect(bytes).toBeLessThanOrEqual(100_000);
    expect(bytes).toBeGreaterThan(50_000);
    expect(outputs[0]).toMatch(/^begin x/);
    expect(outputs.at(-1)).toMatch(/x end$/);
    expect(dropped).toBeGreaterThan(49_000_000);
  });

  it("are never cut inside a character", () => {
    for (const character of ["é", "€", "😀", "\u0000", '"']) {
      for (let limit = 300; limit < 330; limit += 1) {
        const { outputs } = boundOutputs([character.repeat(1000)], limit);
        for (const output of outputs) expect(JSON.stringify(output).isWellFormed()).toBe(true);
        expect(outputs.join("")).not.toMatch(/\ufffd/);
        if (character === "😀") expect([...(outputs[0] as string)].every((unit) => unit === "😀")).toBe(true);
      }
    }
  });

  it("a block whose weight is not its text is dropped whole, and counted", () => {
    const image = { type: "image", data: "x".repeat(100_000), text: "small" };
    const { outputs, bytes, dropped } = boundOutputs(["before", image, "after"], 1000);
    expect(bytes).toBeLessThanOrEqual(1000);
    expect(outputs[0]).toBe("before");
    expect(outputs.at(-1)).toBe("after");
    expect(dropped).toBeGreaterThan(100_000);
  });

  it("a block with a text keeps its other members", () => {
    const block = { output_type: "stream", name: "stdout", text: `begin${"x".repeat(10_000)}end` };
    const { outputs } = boundOutputs([block], 1000);
    expect(outputs[0]).toMatchObject({ output_type: "stream", name: "stdout", text: /^begin/ as unknown as string });
  });

  it("whatever they are, they end within the limit and keep their order", () => {
    const output = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.record({ type: fc.constant("text"), text: fc.string({ unit: "binary", maxLength: 400 }) }),
      fc.record({ text: fc.string({ maxLength: 5 }), data: fc.string({ maxLength: 400 }) }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.array(output, { maxLength: 30 }), fc.integer({ min: 250, max: 3000 }), (list, limit) => {
        const outputs = list as JsonValue[];
        const bounded = boundOutputs(outputs, limit);
        expect(bounded.bytes).toBe(size(bounded.outputs));
        expect(bounded.bytes).toBeLessThanOrEqual(limit);
        if (bounded.dropped === 0) expect(bounded.outputs).toEqual(JSON.parse(JSON.stringify(outputs)));
        else expect(size(outputs)).toBeGreaterThan(limit);
      }),
    );
  });
});
