/**
 * What can be wrong with a notebook, or with what is asked of one.
 *
 * | code | meaning |
 * | --- | --- |
 * | `not_a_notebook` | the path leads to something else, or the file's content is no notebook |
 * | `unsupported_format` | a notebook of another major format than 4 |
 * | `cell_not_found` | no cell has this index, id or prompt number |
 * | `ambiguous_cell` | several cells have this id or prompt number |
 * | `not_code` | a markdown or raw cell, where only a code cell will do |
 * | `would_be_invalid` | the edit would have made the notebook invalid; nothing was written |
 * | `saved_invalid` | the server has saved the notebook and found it invalid |
 * | `conflict` | the file kept changing under the edit; nothing was written |
 */
export type NotebookErrorCode =
  | "not_a_notebook"
  | "unsupported_format"
  | "cell_not_found"
  | "ambiguous_cell"
  | "not_code"
  | "would_be_invalid"
  | "saved_invalid"
  | "conflict";

/** A refusal that concerns a notebook. The message says what would be right. */
export class NotebookError extends Error {
  override readonly name = "NotebookError";
  readonly code: NotebookErrorCode;

  constructor(code: NotebookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
