import { describe, expect, it } from "vitest";
import { z } from "zod";
import { outcomeOf, wrap } from "../../src/tools/outcome.js";
import { silent } from "../wire/servers.js";

const rules = { toolName: "dig", outputSchema: undefined, maskErrors: false, logger: silent };
const text = (content: string) => ({ content: [{ type: "text", text: content }] });

describe("what a handler returns", () => {
  it.each([
    [undefined, { content: [] }],
    [null, { content: [] }],
    ["", text("")],
    ["dug", text("dug")],
    [7, text("7")],
    [Number.NaN, text("NaN")],
    [12n, text("12")],
    [false, text("false")],
    [[1, "a"], text('[1,"a"]')],
    [[], text("[]")],
    [new Date(0), text('"1970-01-01T00:00:00.000Z"')],
  ])("%s becomes content", (value, result) => {
    expect(wrap(value)).toEqual(result);
  });

  it("an object becomes structured content, and text for clients that read only that", () => {
    expect(wrap({ feet: 3, tool: undefined })).toEqual({ ...text('{"feet":3}'), structuredContent: { feet: 3 } });
  });

  it("a list of content blocks becomes the content", () => {
    const blocks = [
      { type: "text", text: "a" },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ];
    expect(wrap(blocks)).toEqual({ content: blocks });
  });

  it.each([
    { content: [] },
    { content: [{ type: "text", text: "x" }], isError: true, _meta: { a: 1 }, vendor: { b: null } },
  ])("a whole result stays as it is (%j)", (result) => {
    expect(wrap(result)).toBe(result);
  });

  it("a whole result without content gets what the protocol wants", () => {
    expect(wrap({ structuredContent: { a: 1 }, _meta: { b: 2 } })).toEqual({
      ...text('{"a":1}'),
      structuredContent: { a: 1 },
      _meta: { b: 2 },
    });
    expect(wrap({ isError: true })).toEqual({ content: [], isError: true });
  });

  it("a domain object is not taken for a result by a member's name alone", () => {
    for (const value of [{ content: "a letter" }, { isError: "no" }, { structuredContent: "x" }]) {
      expect(wrap(value)).toEqual({ ...text(JSON.stringify(value)), structuredContent: value });
    }
  });
});

describe("what a call comes to", () => {
  it("isError decides between a result and an error result", async () => {
    expect(await outcomeOf(() => "dug", rules)).toEqual({ kind: "result", result: text("dug") });
    expect(await outcomeOf(() => ({ ...text("rock"), isError: true }), rules)).toMatchObject({ kind: "error_result" });
  });

  it.each([
    [new Error("rock"), "rock"],
    ["a string", "a string"],
    [undefined, "undefined"],
    [{ odd: true }, "[object Object]"],
    [new TypeError(), "TypeError"],
    [Object.create(null), "a value that has no text"],
  ])("a throw of %s is an outcome", async (thrown, message) => {
    const handlers = [
      () => {
        throw thrown;
      },
      () => Promise.reject(thrown),
    ];
    for (const handler of handlers) expect(await outcomeOf(handler, rules)).toEqual({ kind: "threw", message });
  });

  it("an error that only looks like a protocol error is none", async () => {
    const error = Object.assign(new Error("x"), { name: "ProtocolError", code: "E_CODE" });
    expect(await outcomeOf(() => Promise.reject(error), rules)).toMatchObject({ kind: "threw" });
  });

  it("a protocol error of another copy of the SDK is one", async () => {
    const error = Object.assign(new Error("x"), { name: "ProtocolError", code: -32042, data: { a: 1 } });
    expect(await outcomeOf(() => Promise.reject(error), rules)).toEqual({
      kind: "protocol_error",
      error: { code: -32042, message: "x", data: { a: 1 } },
    });
  });

  it.each([
    [() => ({ content: [{ type: "text" }] }), "CallToolResult"],
    [() => ({ content: [{ type: "hologram" }] }), "CallToolResult"],
    [() => Symbol("x"), "JSON cannot carry"],
    [() => () => {}, "JSON cannot carry"],
    [() => ({ resultType: "input_required", inputRequests: {} }), "input_required"],
  ])("an answer that is no tool result says so, also where errors are masked", async (handler, why) => {
    const outcome = await outcomeOf(handler as () => unknown, { ...rules, maskErrors: true });
    expect(outcome).toMatchObject({ kind: "threw", message: expect.stringContaining(why) });
  });

  it("an answer that JSON cannot write is a failure", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(await outcomeOf(() => cyclic, rules)).toMatchObject({ kind: "threw", message: /circular/i });
  });

  it("masked, the message is one fixed sentence and the error goes to the log", async () => {
    const logged: unknown[] = [];
    const logger = { ...silent, error: (fields: object) => void logged.push(fields) };
    const outcome = await outcomeOf(() => Promise.reject(new Error("hunter2")), { ...rules, maskErrors: true, logger });
    expect(outcome).toEqual({ kind: "threw", message: "The tool failed with an internal error." });
    expect(JSON.stringify(logged)).toContain("hunter2");
  });

  it("the output schema is checked, in the SDK's words, unless the result is an error", async () => {
    const outputSchema = z.object({ feet: z.number() });
    const checked = { ...rules, outputSchema };
    expect(await outcomeOf(() => ({ feet: 3 }), checked)).toMatchObject({ kind: "result" });
    expect(await outcomeOf(() => "dug", checked)).toMatchObject({
      message: "Output validation error: Tool dig has an output schema but no structured content was provided",
    });
    expect(await outcomeOf(() => ({ feet: "three" }), checked)).toMatchObject({
      message: expect.stringContaining("Output validation error: Invalid structured content for tool dig: feet: "),
    });
    expect(await outcomeOf(() => ({ content: [], isError: true }), checked)).toMatchObject({ kind: "error_result" });
  });
});
