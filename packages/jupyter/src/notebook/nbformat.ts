/**
 * The notebook format 4, as types, as far as we read and write it.
 *
 * @see https://nbformat.readthedocs.io/en/latest/format_description.html
 */

/** Text as files hold it: whole, or as a list of its lines, each with its line end. */
export type MultilineString = string | string[];

/** Media type to content: text or base64 as a string, any JSON under the JSON types. */
export type MimeBundle = Record<string, unknown>;

export interface StreamOutput {
  output_type: "stream";
  /** `stdout` or `stderr`. */
  name: string;
  text: MultilineString;
}

export interface DisplayDataOutput {
  output_type: "display_data";
  data: MimeBundle;
  metadata: Record<string, unknown>;
}

export interface ExecuteResultOutput {
  output_type: "execute_result";
  execution_count: number | null;
  data: MimeBundle;
  metadata: Record<string, unknown>;
}

export interface ErrorOutput {
  output_type: "error";
  ename: string;
  evalue: string;
  /** With the kernel's colours as ANSI escapes. */
  traceback: string[];
}

/** One output of a code cell. */
export type CellOutput = StreamOutput | DisplayDataOutput | ExecuteResultOutput | ErrorOutput;

interface CellBase {
  /** From 4.5 on; the server makes one up where it is missing. */
  id?: string;
  source: MultilineString;
  metadata: Record<string, unknown>;
}

export interface CodeCell extends CellBase {
  cell_type: "code";
  outputs: CellOutput[];
  /** Null when the cell has not been run. */
  execution_count: number | null;
}

export interface TextCell extends CellBase {
  cell_type: "markdown" | "raw";
}

export type Cell = CodeCell | TextCell;

/** A notebook of format 4.x. Members that we do not know are kept as they are. */
export interface Notebook {
  nbformat: 4;
  nbformat_minor: number;
  metadata: Record<string, unknown>;
  cells: Cell[];
}

/** Whether a bundle may hold any JSON under this media type, and not only text. */
export function isJsonMimeType(mimeType: string): boolean {
  return /^application\/(.*\+)?json$/.test(mimeType);
}

/** The text of a multi-line string, in either of its forms. */
export function joinLines(text: MultilineString): string {
  return typeof text === "string" ? text : text.join("");
}

/** The kernelspec that the notebook asks for, if it names one. */
export function kernelSpecOf({ metadata }: Notebook): string | undefined {
  const { name } = (metadata.kernelspec ?? {}) as { name?: unknown };
  return typeof name === "string" && name !== "" ? name : undefined;
}
