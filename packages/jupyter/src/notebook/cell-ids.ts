/**
 * Cell ids: required and unique from format 4.5 on, not allowed before.
 *
 * @see https://jupyter.org/enhancement-proposals/62-cell-id/cell-id.html
 */
import { randomBytes } from "node:crypto";
import type { Cell, Notebook } from "./nbformat.js";

const FIRST_MINOR_WITH_IDS = 5;
const VALID_ID = /^[a-zA-Z0-9-_]{1,64}$/;

/** One cell whose id was missing, not allowed, or another cell's too. */
export interface IdRepair {
  index: number;
  /** The id that the cell has now. */
  id: string;
  /** The id that it had; another cell has kept it, or it was not valid. */
  previous: string | undefined;
}

/** A notebook whose ids are as its format wants them, and what was done for that. */
export interface RepairedNotebook {
  notebook: Notebook;
  repairs: IdRepair[];
}

/**
 * Gives every cell an id of its own where the format asks for ids, or where cells have some: then the notebook is
 * upgraded to 4.5, which is the first format that allows them. Of cells that share an id the first one keeps it. A
 * notebook before 4.5 without ids is left alone.
 */
export function repairIds(notebook: Notebook): RepairedNotebook {
  const wantsIds = notebook.nbformat_minor >= FIRST_MINOR_WITH_IDS;
  if (!wantsIds && notebook.cells.every((cell) => cell.id === undefined)) return { notebook, repairs: [] };
  const upgraded = wantsIds ? notebook : { ...notebook, nbformat_minor: FIRST_MINOR_WITH_IDS };
  return repairCells(upgraded);
}

function repairCells(notebook: Notebook): RepairedNotebook {
  const taken = new Set<string>();
  const repairs: IdRepair[] = [];
  const cells = notebook.cells.map((cell, index) => {
    const { id } = cell;
    if (isValidId(id) && !taken.has(id)) {
      taken.add(id);
      return cell;
    }
    const fresh = newCellId();
    taken.add(fresh);
    repairs.push({ index, id: fresh, previous: id });
    return withId(cell, fresh);
  });
  return repairs.length === 0 ? { notebook, repairs } : { notebook: { ...notebook, cells }, repairs };
}

/** A new id in the form that Jupyter gives them: eight hexadecimal digits. */
function newCellId(): string {
  return randomBytes(4).toString("hex");
}

/** The id comes first where there was none, and stays where it was otherwise: no other line of the file changes. */
function withId(cell: Cell, id: string): Cell {
  return cell.id === undefined ? { id, ...cell } : { ...cell, id };
}

function isValidId(id: unknown): id is string {
  return typeof id === "string" && VALID_ID.test(id);
}
