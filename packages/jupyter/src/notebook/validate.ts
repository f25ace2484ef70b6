/**
 * Checking notebooks of format 4.0 to 4.5.
 *
 * Our own checks and not the official JSON schema: the server checks everything it saves against that schema anyway, what
 * it answers cannot be told apart by cell, and it answers only after it has saved. What is checked here is what we rely
 * on when we read, and every member that we write.
 */
import { NotebookError } from "./errors.js";
import { isJsonMimeType, type Notebook } from "./nbformat.js";

/** The newest minor format of which we know all members. */
const NEWEST_MINOR = 5;

/** The notebook in a file's parsed JSON, if it can be worked with; it may still have {@link problemsOf | problems}. */
export function parseNotebook(json: unknown): Notebook {
  const notebook = asObject(json);
  if (!notebook) throw unusable("it is no JSON object");
  if (notebook.nbformat !== 4) throw unsupported(notebook.nbformat);
  if (!Number.isInteger(notebook.nbformat_minor)) throw unusable("nbformat_minor is no whole number");
  if (!asObject(notebook.metadata)) throw unusable("metadata is no object");
  if (!Array.isArray(notebook.cells)) throw unusable("cells is no list");
  for (const [index, cell] of notebook.cells.entries()) {
    const problem = problemOfUnusableCell(asObject(cell));
    if (problem) throw unusable(`cell ${index} ${problem}`);
  }
  return json as Notebook;
}

function unusable(why: string): NotebookError {
  return new NotebookError("not_a_notebook", `The file is no notebook that can be worked with: ${why}.`);
}

function unsupported(nbformat: unknown): NotebookError {
  if (typeof nbformat !== "number") return unusable("it has no nbformat number");
  const message = `The notebook has format ${nbformat}; only format 4 is supported. Opening and saving it in Jupyter upgrades it.`;
  return new NotebookError("unsupported_format", message);
}

function problemOfUnusableCell(cell: Json | undefined): string | undefined {
  if (!cell) return "is no object";
  if (!isCellType(cell.cell_type)) return `has the unknown type ${JSON.stringify(cell.cell_type)}`;
  if (!isMultiline(cell.source)) return "has a source that is no text";
  if (cell.cell_type === "code" && !Array.isArray(cell.outputs)) return "is a code cell without a list of outputs";
  return undefined;
}

/**
 * What the official schema would find wrong, each with its place; empty when the notebook is valid. Missing and repeated
 * cell ids are left out: they are repaired whenever a notebook is written.
 */
export function problemsOf(notebook: Notebook): string[] {
  const exact = notebook.nbformat_minor <= NEWEST_MINOR;
  const own = exact
    ? unknownMembers(notebook, ["nbformat", "nbformat_minor", "metadata", "cells"], "the notebook")
    : [];
  return [...own, ...notebook.cells.flatMap((cell, index) => problemsOfCell(cell as unknown as Json, index, exact))];
}

function problemsOfCell(cell: Json, index: number, exact: boolean): string[] {
  const place = `cell ${index}`;
  const isCode = cell.cell_type === "code";
  const known = [
    "id",
    "cell_type",
    "metadata",
    "source",
    ...(isCode ? ["outputs", "execution_count"] : ["attachments"]),
  ];
  return [
    ...(exact ? unknownMembers(cell, known, place) : []),
    ...(asObject(cell.metadata) ? [] : [`${place}: metadata is no object`]),
    ...(isCode ? problemsOfRun(cell, place, exact) : []),
  ];
}

function problemsOfRun(cell: Json, place: string, exact: boolean): string[] {
  const outputs = cell.outputs as unknown[];
  return [
    ...problemOfCount(cell.execution_count, place),
    ...outputs.flatMap((output, index) => problemsOfOutput(output, `${place}, output ${index}`, exact)),
  ];
}

function problemOfCount(count: unknown, place: string): string[] {
  if (count === null || (Number.isInteger(count) && Number(count) >= 0)) return [];
  return [`${place}: execution_count is neither null nor a whole number from 0 on`];
}

function problemsOfOutput(value: unknown, place: string, exact: boolean): string[] {
  const output = asObject(value);
  const type = output?.output_type;
  if (!output || typeof type !== "string" || !Object.hasOwn(OUTPUT_CHECKS, type)) {
    return [`${place}: unknown output type ${JSON.stringify(type)}`];
  }
  const check = OUTPUT_CHECKS[type as keyof typeof OUTPUT_CHECKS];
  const unknown = exact ? unknownMembers(output, ["output_type", ...check.members], place) : [];
  return [...unknown, ...check.problems(output, place)];
}

interface OutputCheck {
  members: string[];
  problems: (output: Json, place: string) => string[];
}

const OUTPUT_CHECKS: Readonly<Record<"stream" | "display_data" | "execute_result" | "error", OutputCheck>> = {
  stream: {
    members: ["name", "text"],
    problems: (output, place) => [
      ...(typeof output.name === "string" ? [] : [`${place}: the stream has no name`]),
      ...(isMultiline(output.text) ? [] : [`${place}: the stream has no text`]),
    ],
  },
  display_data: { members: ["data", "metadata"], problems: problemsOfDisplay },
  execute_result: {
    members: ["data", "metadata", "execution_count"],
    problems: (output, place) => [
      ...problemsOfDisplay(output, place),
      ...problemOfCount(output.execution_count, place),
    ],
  },
  error: {
    members: ["ename", "evalue", "traceback"],
    problems: (output, place) => [
      ...(typeof output.ename === "string" ? [] : [`${place}: ename is no text`]),
      ...(typeof output.evalue === "string" ? [] : [`${place}: evalue is no text`]),
      ...(isLines(output.traceback) ? [] : [`${place}: traceback is no list of lines`]),
    ],
  },
};

function problemsOfDisplay(output: Json, place: string): string[] {
  const data = asObject(output.data);
  const metadata = asObject(output.metadata) ? [] : [`${place}: metadata is no object`];
  if (!data) return [...metadata, `${place}: data is no object`];
  const bad = Object.entries(data).filter(([mimeType, value]) => !isJsonMimeType(mimeType) && !isMultiline(value));
  return [...metadata, ...bad.map(([mimeType]) => `${place}: ${mimeType} is no text`)];
}

type Json = Record<string, unknown>;

function unknownMembers(value: object, known: readonly string[], place: string): string[] {
  const unknown = Object.keys(value).filter((member) => !known.includes(member));
  return unknown.map((member) => `${place}: unknown member ${JSON.stringify(member)}`);
}

function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function isCellType(type: unknown): boolean {
  return type === "code" || type === "markdown" || type === "raw";
}

function isMultiline(value: unknown): boolean {
  return typeof value === "string" || isLines(value);
}

function isLines(value: unknown): boolean {
  return Array.isArray(value) && value.every((line) => typeof line === "string");
}
