/** Everything that the rest of the package uses to work with notebooks. */

export { NotebookFiles, type SaveOutcome } from "./contents.js";
export type { RunRecord } from "./edit.js";
export { type CellKey, cellKey, type FoundCell, findCodeCell } from "./find-cell.js";
export { type Cell, type CellOutput, type CodeCell, joinLines, kernelSpecOf, type Notebook } from "./nbformat.js";
