import { describe, expect, it } from "vitest";
import { parseNotebook, problemsOf } from "../../src/notebook/validate.js";

const cell = { cell_type: "code", metadata: {}, source: "", outputs: [] as unknown[], execution_count: null };
const notebook = { cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 };

describe("a notebook", () => {
  it.each([
    ["no JSON object", [1], "no JSON object"],
    ["of format 3", { ...notebook, nbformat: 3 }, "format 3; only format 4"],
    ["without a format", { cells: [] }, "no nbformat number"],
    ["without a minor format", { ...notebook, nbformat_minor: "5" }, "nbformat_minor"],
    ["without cells", { ...notebook, cells: {} }, "cells is no list"],
    ["without metadata", { ...notebook, metadata: null }, "metadata is no object"],
    [
      "with a cell of an unknown type",
      { ...notebook, cells: [{ ...cell, cell_type: "heading" }] },
      'cell 0 has the unknown type "heading"',
    ],
    ["with a source that is no text", { ...notebook, cells: [cell, { ...cell, source: [1] }] }, "cell 1 has a source"],
    [
      "with a code cell without outputs",
      { ...notebook, cells: [{ ...cell, outputs: undefined }] },
      "cell 0 is a code cell without",
    ],
  ])("that is %s cannot be worked with, and it is said why", (_, json, why) => {
    expect(() => parseNotebook(json)).toThrow(why);
  });

  it.each([0, 4, 5])("of format 4.%i is worked with as it is", (nbformat_minor) => {
    const json = { ...notebook, nbformat_minor };
    expect(parseNotebook(json)).toBe(json);
    expect(problemsOf(parseNotebook(json))).toEqual([]);
  });

  it("of a later minor format may have members that we do not know", () => {
    const later = { ...notebook, nbformat_minor: 6, novel: 1, cells: [{ ...cell, novel: 1 }] };
    expect(problemsOf(parseNotebook(later))).toEqual([]);
  });
});

describe("the problems of a notebook", () => {
  const display = { output_type: "display_data", data: { "text/plain": "x" }, metadata: {} };

  it.each([
    ["a kernel-only field", { ...display, transient: {} }, 'unknown member "transient"'],
    ["text that is none", { ...display, data: { "text/plain": { a: 1 } } }, "text/plain is no text"],
    ["missing metadata", { output_type: "display_data", data: {} }, "metadata is no object"],
    ["missing data", { output_type: "display_data", metadata: {} }, "data is no object"],
    ["a result without its prompt number", { ...display, output_type: "execute_result" }, "execution_count"],
    ["a stream without a name", { output_type: "stream", text: "x" }, "no name"],
    ["a stream without text", { output_type: "stream", name: "stdout", text: 1 }, "no text"],
    ["an error without a traceback", { output_type: "error", ename: "E", evalue: "" }, "traceback"],
    ["an unknown output", { output_type: "toString" }, 'unknown output type "toString"'],
    ["an output that is none", null, "unknown output type"],
  ])("include %s, with its place", (_, output, problem) => {
    const [found, ...more] = problemsOf(parseNotebook({ ...notebook, cells: [{ ...cell, outputs: [output] }] }));
    expect(found).toContain("cell 0, output 0: ");
    expect(found).toContain(problem);
    expect(more).toEqual([]);
  });

  it("do not include JSON under a JSON type", () => {
    const data = { "application/json": [1], "application/vnd.x+json": { a: 1 }, "text/html": ["a", "b"] };
    expect(problemsOf(parseNotebook({ ...notebook, cells: [{ ...cell, outputs: [{ ...display, data }] }] }))).toEqual(
      [],
    );
  });
});
