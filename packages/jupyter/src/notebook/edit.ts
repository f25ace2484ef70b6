/** Edits: each takes a notebook and gives a new one that differs from it in nothing else. */
import { NotebookError } from "./errors.js";
import type { CellOutput, Notebook } from "./nbformat.js";

/** What a run leaves in its cell. */
export interface RunRecord {
  outputs: CellOutput[];
  executionCount: number | null;
}

/**
 * Puts a run's outputs and prompt number into the code cell at `index`.
 * @throws NotebookError `not_code`
 */
export function setRun(notebook: Notebook, index: number, run: RunRecord): Notebook {
  const cells = notebook.cells.map((cell, at) => {
    if (at !== index) return cell;
    if (cell.cell_type !== "code") {
      throw new NotebookError(
        "not_code",
        `The cell with index ${index} is a ${cell.cell_type} cell: it has no outputs.`,
      );
    }
    return { ...cell, execution_count: run.executionCount, outputs: run.outputs };
  });
  return { ...notebook, cells };
}
