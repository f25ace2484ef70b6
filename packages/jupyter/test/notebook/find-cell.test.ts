import { describe, expect, it } from "vitest";
import {
  type CellKey,
  type CellRef,
  cellKey,
  findAgain,
  findCell,
  findCodeCell,
} from "../../src/notebook/find-cell.js";
import type { Cell, Notebook } from "../../src/notebook/nbformat.js";

function code(id: string | undefined, source: string | string[], count: number | null = null): Cell {
  const base = { cell_type: "code" as const, source, metadata: {}, outputs: [], execution_count: count };
  return id === undefined ? base : { id, ...base };
}
function notebook(...cells: Cell[]): Notebook {
  return { cells, metadata: {}, nbformat: 4, nbformat_minor: 5 };
}
const text: Cell = { id: "text", cell_type: "markdown", source: "# Title", metadata: {} };
const sample = notebook(code("first", "import numpy", 3), text, code("third", ["x = 1\n", "x"], 4));

/** The refusal, as code and message. */
function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
  throw new Error("nothing was refused");
}

describe("a cell", () => {
  it("is found by its index, its id or its prompt number", () => {
    const refs: CellRef[] = [{ index: 2 }, { id: "third" }, { executionCount: 4 }];
    for (const ref of refs) expect(findCell(sample, ref)).toEqual({ index: 2, cell: sample.cells[2] });
  });

  it.each([3, -1, 1.5, Number.NaN])("is not found by the index %s, and the range is told", (index) => {
    const message = `cell_not_found: There is no cell with index ${index}: the notebook has 3 cells, 0 to 2.`;
    expect(refusal(() => findCell(sample, { index }))).toBe(message);
  });

  it("is not found in an empty notebook", () => {
    expect(refusal(() => findCell(notebook(), { index: 0 }))).toContain("the notebook has no cells");
  });

  it("is not found by an unknown id, and the nearest ids are told with what they stand for", () => {
    expect(refusal(() => findCell(sample, { id: "thirt" }))).toBe(
      'cell_not_found: No cell has the id "thirt": the nearest are "third" (index 2: x = 1), "first" (index 0: import numpy), "text" (index 1: # Title).',
    );
    const many = notebook(...Array.from({ length: 50 }, (_, index) => code(`cell-${index}`, "")));
    expect(refusal(() => findCell(many, { id: "cell-7x" })).match(/index/g)).toHaveLength(5);
    expect(refusal(() => findCell(notebook(code(undefined, "")), { id: "x" }))).toContain("name one by its index");
  });

  it("is not found by a prompt number or an id that several cells have", () => {
    const ambiguous = notebook(code("a", "1", 1), code("a", "2", 1));
    expect(refusal(() => findCell(ambiguous, { executionCount: 1 }))).toContain("those with index 0, 1");
    expect(refusal(() => findCell(ambiguous, { id: "a" }))).toContain("ambiguous_cell");
    expect(refusal(() => findCell(ambiguous, { executionCount: 9 }))).toContain("No cell has the prompt number [9]");
  });

  it("that is text is not run", () => {
    expect(findCodeCell(sample, { index: 0 }).index).toBe(0);
    expect(refusal(() => findCodeCell(sample, { index: 1 }))).toBe(
      'not_code: Cell "text" (index 1: # Title) is a markdown cell: only code cells can be run.',
    );
  });
});

/** As it comes back from the task that keeps it. */
const kept = (key: CellKey): CellKey => JSON.parse(JSON.stringify(key));

describe("a cell that has been run is found again", () => {
  const key = kept(cellKey(sample, 2));

  it("by its id, wherever it is and whatever it says", () => {
    const later = notebook(code("new", "x = 1\nx"), code("third", "changed"), text);
    expect(findAgain(later, key)?.index).toBe(1);
  });

  it("by its source where the server makes up ids at each reading, or there are none", () => {
    const fresh = notebook(code("r1", "import numpy"), { ...text, id: "r2" }, code("r3", "x = 1\nx"));
    expect(findAgain(fresh, key)?.index).toBe(2);
    const withoutIds = notebook(code(undefined, "a"), code(undefined, "b"));
    expect(findAgain(notebook(...[...withoutIds.cells].reverse()), cellKey(withoutIds, 0))?.index).toBe(1);
  });

  it("by its source in a cell that was cut and pasted", () => {
    expect(findAgain(notebook(code("pasted", "x = 1\nx"), code("first", "import numpy"), text), key)?.index).toBe(0);
  });

  it("but not in another cell with the same source", () => {
    const twins = notebook(code("one", "same"), code("two", "same"));
    expect(findAgain(notebook(code("one", "same")), cellKey(twins, 1))).toBeUndefined();
  });

  it("among twins without ids by its place", () => {
    const twins = notebook(code(undefined, "same"), code(undefined, "same"));
    expect(findAgain(twins, cellKey(twins, 1))?.index).toBe(1);
    const moved = notebook(code(undefined, "first"), ...twins.cells, code(undefined, "same"));
    expect(findAgain(moved, { ...cellKey(twins, 1), index: 0 })).toBeUndefined();
  });
});
