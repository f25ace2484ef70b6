import { describe, expect, it } from "vitest";
import { repairIds } from "../../src/notebook/cell-ids.js";
import type { Cell, Notebook } from "../../src/notebook/nbformat.js";

function notebook(minor: number, ...cells: { id?: string; source: string }[]): Notebook {
  return {
    cells: cells.map((cell): Cell => ({ cell_type: "markdown", metadata: {}, ...cell })),
    metadata: {},
    nbformat: 4,
    nbformat_minor: minor,
  };
}

describe("cell ids", () => {
  it("are left alone where they are as the format wants them", () => {
    for (const fine of [notebook(5, { id: "a", source: "" }, { id: "b", source: "" }), notebook(4, { source: "" })]) {
      expect(repairIds(fine)).toEqual({ notebook: fine, repairs: [] });
      expect(repairIds(fine).notebook).toBe(fine);
    }
  });

  it("are added to a 4.5 notebook that lacks some, and nothing else changes", () => {
    const before = notebook(5, { id: "a", source: "1" }, { source: "2" });
    const { notebook: after, repairs } = repairIds(before);
    expect(repairs).toEqual([{ index: 1, id: after.cells[1]?.id, previous: undefined }]);
    expect(repairs[0]?.id).toMatch(/^[0-9a-f]{8}$/);
    expect(after).toEqual({ ...before, cells: [before.cells[0], { ...before.cells[1], id: repairs[0]?.id }] });
    expect(Object.keys(after.cells[1] ?? {})).toEqual(["id", "cell_type", "metadata", "source"]);
  });

  it("upgrade an older notebook that has some: the format before 4.5 does not allow them", () => {
    const { notebook: after, repairs } = repairIds(notebook(4, { id: "a", source: "1" }, { source: "2" }));
    expect(after.nbformat_minor).toBe(5);
    expect(after.cells.map(({ id }) => id)).toEqual(["a", repairs[0]?.id]);
  });

  it("that several cells share stay with the first, and it is told which cells got new ones", () => {
    const before = notebook(5, { id: "a", source: "1" }, { id: "a", source: "2" }, { id: "no/good", source: "3" });
    const { notebook: after, repairs } = repairIds(before);
    expect(repairs.map(({ index, previous }) => ({ index, previous }))).toEqual([
      { index: 1, previous: "a" },
      { index: 2, previous: "no/good" },
    ]);
    expect(new Set(after.cells.map(({ id }) => id)).size).toBe(3);
    expect(after.cells[0]).toBe(before.cells[0]);
    expect(Object.keys(after.cells[1] ?? {})).toEqual(Object.keys(before.cells[1] ?? {}));
  });
});
