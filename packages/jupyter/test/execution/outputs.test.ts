import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DisplayRegistry } from "../../src/execution/display-registry.js";
import { CUT_MIME_TYPE } from "../../src/execution/mime-bundle.js";
import { CellOutputs, type CellOutputsOptions, type OutputMessage } from "../../src/execution/outputs.js";

function message(type: string, content: Record<string, unknown>): OutputMessage {
  return { header: { msg_type: type }, content };
}
const stdout = (text: string) => message("stream", { name: "stdout", text });
const stderr = (text: string) => message("stream", { name: "stderr", text });
const idle = message("status", { execution_state: "idle" });
const display = (text: string, displayId?: string) =>
  message("display_data", {
    data: { "text/plain": text },
    metadata: {},
    transient: displayId === undefined ? {} : { display_id: displayId },
  });
const update = (text: string, displayId: string) =>
  message("update_display_data", {
    data: { "text/plain": text },
    metadata: {},
    transient: { display_id: displayId },
  });
const clearOutput = (wait: boolean) => message("clear_output", { wait });

function reduce(messages: readonly OutputMessage[], options: CellOutputsOptions = {}): CellOutputs {
  const outputs = new CellOutputs(options);
  for (const each of messages) outputs.apply(each);
  return outputs;
}
function outputsOf(...messages: OutputMessage[]) {
  return reduce(messages).outputs();
}
const stream = (name: string, text: string) => ({ output_type: "stream", name, text });
const shown = (text: string) => ({ output_type: "display_data", data: { "text/plain": text }, metadata: {} });

describe("streams", () => {
  it("are one output per stretch of one stream", () => {
    expect(outputsOf(stdout("a"), stdout("b\n"), stderr("e\n"), stdout("c"))).toEqual([
      stream("stdout", "ab\n"),
      stream("stderr", "e\n"),
      stream("stdout", "c"),
    ]);
  });

  it("that show nothing are no output", () => {
    expect(outputsOf(stdout(""), stdout("\u001b[2K"))).toEqual([]);
  });

  it("give the same outputs however they are cut into messages", () => {
    const part = fc.record({
      name: fc.constantFrom("stdout", "stderr"),
      text: fc.string({ unit: fc.constantFrom("a", "🙂", "\n", "\r", "\b", "\u001b[31m", "\u001b[K"), minLength: 1 }),
      cuts: fc.array(fc.nat(20), { maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.constantFrom(40, 1_000), (parts, maxStreamBytes) => {
        const whole = parts.map(({ name, text }) => message("stream", { name, text }));
        const inPieces = parts.flatMap(({ name, text, cuts }) => {
          const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b);
          return places.map((start, index) => message("stream", { name, text: text.slice(start, places[index + 1]) }));
        });
        const limits = { maxStreamBytes };
        expect(reduce(inPieces, { limits }).outputs()).toEqual(reduce(whole, { limits }).outputs());
      }),
    );
  });
});

describe("a run", () => {
  it("that prints, warns and answers is two streams and a result", () => {
    const outputs = reduce([
      message("status", { execution_state: "busy" }),
      message("execute_input", { code: "…", execution_count: 3 }),
      stdout("o\n"),
      stderr("e\n"),
      message("execute_result", { data: { "text/plain": "7" }, metadata: {}, execution_count: 3 }),
      idle,
    ]);
    expect(outputs.outputs()).toEqual([
      stream("stdout", "o\n"),
      stream("stderr", "e\n"),
      { output_type: "execute_result", execution_count: 3, data: { "text/plain": "7" }, metadata: {} },
    ]);
    expect(outputs.executionCount).toBe(3);
  });

  it("that shows nothing has no outputs", () => {
    const outputs = reduce([message("execute_input", { code: "x=1", execution_count: 1 }), idle]);
    expect(outputs.outputs()).toEqual([]);
    expect(outputs.version).toBe(0);
  });

  it("takes its error from the reply when the message with it was lost", () => {
    const error = {
      ename: "ZeroDivisionError",
      evalue: "division by zero",
      traceback: ["\u001b[31mTrace\u001b[0m", "x"],
    };
    const expected = [{ output_type: "error", ...error }];
    const lost = reduce([]);
    lost.applyReply({ status: "error", execution_count: 4, ...error });
    expect(lost.outputs()).toEqual(expected);
    expect(lost.executionCount).toBe(4);
    const seen = reduce([message("error", error)]);
    seen.applyReply({ status: "error", execution_count: 4, ...error });
    expect(seen.outputs()).toEqual(expected);
  });

  it("shows what would go to a pager", () => {
    const outputs = reduce([stdout("x\n")]);
    const page = { source: "page", data: { "text/plain": "Signature: …" }, start: 0 };
    expect(outputs.applyReply({ status: "ok", payload: [page, { source: "set_next_input" }, null] })).toBe(true);
    expect(outputs.outputs()).toEqual([stream("stdout", "x\n"), shown("Signature: …")]);
  });

  it("keeps output that comes after the reply and after idle", () => {
    const outputs = reduce([stdout("1\n")]);
    outputs.applyReply({ status: "ok", execution_count: 1 });
    outputs.apply(stdout("2\n"));
    outputs.apply(idle);
    outputs.apply(stdout("3\n"));
    expect(outputs.outputs()).toEqual([stream("stdout", "1\n2\n3\n")]);
  });

  it("survives malformed messages and ones of no interest", () => {
    const strange = [
      message("stream", { name: 1, text: "x" }),
      message("stream", { name: "stdout", text: null }),
      message("comm_open", { comm_id: "c" }),
      message("status", {}),
      message("execute_input", { execution_count: "three" }),
      message("update_display_data", { data: {}, transient: { display_id: "unknown" } }),
      message("update_display_data", { data: {} }),
    ];
    expect(reduce(strange).version).toBe(0);
    expect(outputsOf(message("display_data", { data: "x" }), message("error", {}))).toEqual([
      { output_type: "display_data", data: {}, metadata: {} },
      { output_type: "error", ename: "", evalue: "", traceback: [] },
    ]);
  });
});

describe("clear_output", () => {
  it("clears at once", () => {
    expect(outputsOf(stdout("a"), clearOutput(false))).toEqual([]);
    expect(outputsOf(stdout("a"), clearOutput(false), stdout("b"))).toEqual([stream("stdout", "b")]);
  });

  it("with wait clears when there is something to show instead, and not before", () => {
    expect(outputsOf(stdout("a"), clearOutput(true), idle)).toEqual([stream("stdout", "a")]);
    expect(outputsOf(stdout("a"), clearOutput(true), stdout("b"), stdout("c"))).toEqual([stream("stdout", "bc")]);
    expect(outputsOf(stdout("a"), clearOutput(true), display("d"))).toEqual([shown("d")]);
  });

  it("starts a stream anew, without the line that was open before", () => {
    expect(outputsOf(stdout("12345\r"), clearOutput(false), stdout("x"))).toEqual([stream("stdout", "x")]);
  });
});

describe("displays", () => {
  it("are updated in place, every one with the id", () => {
    expect(outputsOf(display("a", "d"), stdout("x"), display("b", "d"), display("c"), update("new", "d"))).toEqual([
      shown("new"),
      stream("stdout", "x"),
      shown("new"),
      shown("c"),
    ]);
  });

  it("are updated from a later cell, which shows nothing itself", () => {
    const displays = new DisplayRegistry();
    let told = 0;
    const first = reduce([display("a", "d"), idle], { displays, onForeignUpdate: () => told++ });
    const before = first.outputs();
    const second = reduce([update("b", "d"), idle], { displays });
    expect(first.outputs()).toEqual([shown("b")]);
    expect(second.outputs()).toEqual([]);
    expect(told).toBe(1);
    expect(before).toEqual([shown("a")]);
  });

  it("keep being results when results are updated", () => {
    const result = message("execute_result", {
      data: { "text/plain": "a" },
      metadata: {},
      execution_count: 2,
      transient: { display_id: "d" },
    });
    expect(outputsOf(result, update("b", "d"))).toEqual([
      { output_type: "execute_result", execution_count: 2, data: { "text/plain": "b" }, metadata: {} },
    ]);
  });

  it("that were cleared are not brought back by an update", () => {
    const displays = new DisplayRegistry();
    let told = 0;
    const cleared = reduce([display("a", "d"), clearOutput(false)], { displays, onForeignUpdate: () => told++ });
    reduce([update("b", "d")], { displays });
    expect(cleared.outputs()).toEqual([]);
    expect(told).toBe(0);
  });

  it("are forgotten when there are too many of them, oldest first", () => {
    const displays = new DisplayRegistry();
    const outputs = reduce(
      Array.from({ length: 1_500 }, (_, index) => display("a", `d${index}`)),
      { displays },
    );
    displays.update("d0", { data: { "text/plain": "b" } });
    displays.update("d1499", { data: { "text/plain": "b" } });
    expect(outputs.outputs().at(0)).toEqual(shown("a"));
    expect(outputs.outputs().at(-1)).toEqual(shown("b"));
  });
});

describe("what is stored", () => {
  it("has no kernel-only fields", () => {
    expect(Object.keys(outputsOf(display("a", "d"))[0] ?? {}).sort()).toEqual(["data", "metadata", "output_type"]);
  });

  it("has text under text types and JSON under JSON types", () => {
    const data = {
      "text/html": ["<b>", "x</b>"],
      "application/json": [1],
      "application/x-y+json": { a: 1 },
      "a/b": { c: 1 },
    };
    expect(outputsOf(message("display_data", { data, metadata: { a: 1 } }))).toEqual([
      {
        output_type: "display_data",
        data: { "text/html": "<b>x</b>", "application/json": [1], "application/x-y+json": { a: 1 }, "a/b": '{"c":1}' },
        metadata: { a: 1 },
      },
    ]);
  });

  it("has no half characters, and no member that changes an object's prototype", () => {
    const data = JSON.parse(
      '{"text/plain":"\\ud83d","application/json":{"\\\\ud83d\\ud83d":"🙂\\ude42"},"__proto__":"x"}',
    );
    const [output] = outputsOf(message("display_data", { data, metadata: {} }));
    expect(JSON.stringify(output)).toBe(
      '{"output_type":"display_data","data":{"text/plain":"\ufffd","application/json":{"\\\\ud83d\ufffd":"🙂\ufffd"},"__proto__":"x"},"metadata":{}}',
    );
  });
});

describe("limits", () => {
  const cut = (what: object) => ({ output_type: "display_data", data: { [CUT_MIME_TYPE]: what }, metadata: {} });

  it("mark the gap in a stream where it is, without words", () => {
    const lines = Array.from({ length: 100 }, (_, index) => `${String(index).padStart(3, "0")}\n`).join("");
    expect(reduce([stdout(lines)], { limits: { maxStreamBytes: 40 } }).outputs()).toEqual([
      stream("stdout", "000\n001\n002\n003\n004\n"),
      cut({ bytes: 360, lines: 90 }),
      stream("stdout", "095\n096\n097\n098\n099\n"),
    ]);
  });

  it("leave out a representation that is too large, and say which", () => {
    const data = { "image/png": "A".repeat(2_000), "text/plain": "<Figure>" };
    expect(
      reduce([message("display_data", { data, metadata: {} })], { limits: { maxEntryBytes: 1_000 } }).outputs(),
    ).toEqual([shown("<Figure>"), cut({ bytes: 2_000, lines: 0, mimeTypes: ["image/png"] })]);
  });

  it("keep the head and the tail of a large plain text and of a traceback", () => {
    const limits = { maxEntryBytes: 10 };
    expect(reduce([display("0123456789abcdef")], { limits }).outputs()).toEqual([
      shown("01234bcdef"),
      cut({ bytes: 6, lines: 0, mimeTypes: ["text/plain"] }),
    ]);
    const error = { ename: "E", evalue: "", traceback: ["1234", "2234", "3234", "4234"] };
    expect(reduce([message("error", error)], { limits }).outputs()).toEqual([
      { output_type: "error", ename: "E", evalue: "", traceback: ["1234", "4234"] },
      cut({ bytes: 10, lines: 2 }),
    ]);
  });

  it("keep the first and the last outputs, and count those between", () => {
    const messages = Array.from({ length: 100 }, (_, index) => (index % 2 ? stderr("e\n") : display(`${index}`)));
    const outputs = reduce(messages, { limits: { maxOutputs: 10 } }).outputs();
    expect(outputs).toHaveLength(11);
    expect(outputs.slice(0, 2)).toEqual([shown("0"), stream("stderr", "e\n")]);
    expect(outputs[5]).toEqual(cut({ outputs: 90, bytes: 45 * 2 + 2 * 1 + 43 * 2, lines: 45 }));
    expect(outputs.slice(-2)).toEqual([shown("98"), stream("stderr", "e\n")]);
  });

  it("hold for all outputs together, updates included", () => {
    const limits = { maxBytes: 1_000 };
    const many = reduce(
      Array.from({ length: 100 }, () => display("x".repeat(100))),
      { limits },
    ).outputs();
    expect(many.length).toBeLessThanOrEqual(12);
    const grown = reduce([display("a", "d"), display("b", "e"), display("c")], { limits });
    grown.apply(update("x".repeat(900), "d"));
    grown.apply(update("y".repeat(900), "e"));
    expect(JSON.stringify(grown.outputs()).length).toBeLessThan(1_500);
  });

  it("hold for 20,000 outputs at the cost of their own size", () => {
    const startedAt = performance.now();
    const outputs = reduce(Array.from({ length: 20_000 }, (_, index) => (index % 2 ? stderr("e\n") : stdout("o\n"))));
    expect(outputs.outputs().length).toBeLessThanOrEqual(2_001);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
