/** Finding the cell that is meant: by what a caller says of it, and again after the notebook may have changed. */
import { NotebookError } from "./errors.js";
import { type Cell, type CodeCell, joinLines, type Notebook } from "./nbformat.js";

/** How a caller names a cell. A prompt number is what a person reads as `[12]`. */
export type CellRef = { index: number } | { id: string } | { executionCount: number };

/** A cell and where it is. */
export interface FoundCell<C extends Cell = Cell> {
  index: number;
  cell: C;
}

/** @throws NotebookError `cell_not_found` or `ambiguous_cell` */
export function findCell(notebook: Notebook, ref: CellRef): FoundCell {
  if ("index" in ref) return cellAt(notebook, ref.index);
  if ("id" in ref) return cellWithId(notebook, ref.id);
  return cellWithCount(notebook, ref.executionCount);
}

/**
 * The code cell that is to be run.
 * @throws NotebookError as {@link findCell}, and `not_code`
 */
export function findCodeCell(notebook: Notebook, ref: CellRef): FoundCell<CodeCell> {
  const { index, cell } = findCell(notebook, ref);
  if (cell.cell_type === "code") return { index, cell };
  const message = `Cell ${describe(cell, index)} is a ${cell.cell_type} cell: only code cells can be run.`;
  throw new NotebookError("not_code", message);
}

function cellAt(notebook: Notebook, index: number): FoundCell {
  const cell = Number.isInteger(index) ? notebook.cells[index] : undefined;
  if (cell) return { index, cell };
  const count = notebook.cells.length;
  const range = count === 0 ? "the notebook has no cells" : `the notebook has ${count} cells, 0 to ${count - 1}`;
  throw new NotebookError("cell_not_found", `There is no cell with index ${index}: ${range}.`);
}

function cellWithId(notebook: Notebook, id: string): FoundCell {
  const found = cellsWhere(notebook, (cell) => cell.id === id);
  if (found.length === 0) throw unknownId(notebook, id);
  return theOnly(found, `the id ${JSON.stringify(id)}`);
}

function cellWithCount(notebook: Notebook, executionCount: number): FoundCell {
  const found = cellsWhere(notebook, (cell) => cell.cell_type === "code" && cell.execution_count === executionCount);
  if (found.length === 0) {
    throw new NotebookError("cell_not_found", `No cell has the prompt number [${executionCount}].`);
  }
  return theOnly(found, `the prompt number [${executionCount}]`);
}

function theOnly(found: readonly FoundCell[], what: string): FoundCell {
  const [first, ...more] = found;
  if (first && more.length === 0) return first;
  const indices = found.map(({ index }) => index).join(", ");
  throw new NotebookError(
    "ambiguous_cell",
    `Several cells have ${what}: those with index ${indices}. Name one by its index.`,
  );
}

function cellsWhere(notebook: Notebook, matches: (cell: Cell) => boolean): FoundCell[] {
  return notebook.cells.map((cell, index) => ({ index, cell })).filter(({ cell }) => matches(cell));
}

const MAX_SUGGESTIONS = 5;

function unknownId(notebook: Notebook, id: string): NotebookError {
  const near = cellsWhere(notebook, (cell) => cell.id !== undefined)
    .map((found) => ({ ...found, distance: editDistance(id, found.cell.id ?? "") }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ cell, index }) => describe(cell, index));
  const hint =
    near.length === 0 ? "its cells have no ids, so name one by its index" : `the nearest are ${near.join(", ")}`;
  return new NotebookError("cell_not_found", `No cell has the id ${JSON.stringify(id)}: ${hint}.`);
}

const MAX_LINE_SHOWN = 40;

/** `"a1b2c3d4" (index 3: import numpy)` */
function describe(cell: Cell, index: number): string {
  const firstLine = joinLines(cell.source).split("\n", 1)[0]?.slice(0, MAX_LINE_SHOWN) ?? "";
  const place = `index ${index}${firstLine.trim() === "" ? "" : `: ${firstLine.trim()}`}`;
  return cell.id === undefined ? `with ${place}` : `${JSON.stringify(cell.id)} (${place})`;
}

/** How many characters have to be typed anew to get from one id to the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** What identifies a cell from the moment it is run until its outputs are saved. A task keeps it as JSON. */
export interface CellKey {
  id: string | undefined;
  index: number;
  source: string;
  /** The ids that the notebook's other cells had. */
  otherIds: readonly string[];
}

export function cellKey(notebook: Notebook, index: number): CellKey {
  const { cell } = cellAt(notebook, index);
  const otherIds = notebook.cells.flatMap((other) => (other !== cell && other.id !== undefined ? [other.id] : []));
  return { id: cell.id, index, source: joinLines(cell.source), otherIds };
}

/**
 * The cell again, in a later state of its notebook: by its id, wherever it has moved and whatever its source is now.
 *
 * Else the one cell that nobody had seen and that has its source: servers make up a new id at each reading where a file
 * has none, and an editor gives a new one to a cell that is cut and pasted.
 */
export function findAgain(notebook: Notebook, key: CellKey): FoundCell | undefined {
  const sameId = cellsWhere(notebook, (cell) => key.id !== undefined && cell.id === key.id);
  if (sameId.length === 1) return sameId[0];
  const candidates =
    sameId.length > 1
      ? sameId
      : cellsWhere(notebook, (cell) => cell.id === undefined || !key.otherIds.includes(cell.id));
  const sameSource = candidates.filter(({ cell }) => joinLines(cell.source) === key.source);
  return sameSource.length === 1 ? sameSource[0] : sameSource.find(({ index }) => index === key.index);
}
