/** Everything that the rest of the package uses to work with notebooks. */

export { type IdRepair, type RepairedNotebook, repairIds } from "./cell-ids.js";
export { type ContentsApi, NotebookFiles, type NotebookUpdate, type SaveOutcome } from "./contents.js";
export { type RunRecord, setRun } from "./edit.js";
export { NotebookError, type NotebookErrorCode } from "./errors.js";
export { type CellKey, type CellRef, cellKey, type FoundCell, findAgain, findCell, findCodeCell } from "./find-cell.js";
export {
  type Cell,
  type CellOutput,
  type CodeCell,
  type DisplayDataOutput,
  type ErrorOutput,
  type ExecuteResultOutput,
  isJsonMimeType,
  joinLines,
  kernelSpecOf,
  type MimeBundle,
  type MultilineString,
  type Notebook,
  type StreamOutput,
  type TextCell,
} from "./nbformat.js";
export { parseNotebook, problemsOf } from "./validate.js";
