/** What a tool says of a run: content for whoever reads it, and the same in members for whoever computes with it. */
import type { AssignedKernel, ContentBlock, Omitted, Rendering } from "../execution/index.js";
import type { EndState, ExecutionEnd, Incompleteness } from "../kernel/index.js";

/** How a run stands when its call is answered. */
export type ExecutionStatus = ExecutionEnd["state"] | "still_running";

/** Which kernel ran it, and whether what ran before is still known to it; see {@link AssignedKernel}. */
export interface KernelReport {
  id: string;
  origin: AssignedKernel["origin"];
}

/** The cell that was run, and whether the notebook has its outputs now. */
export interface CellReport {
  notebook_path: string;
  cell_index: number;
  /** Absent in a notebook of a format before 4.5. */
  cell_id?: string;
  saved: boolean;
  /** Why they are not in the notebook. */
  not_saved_because?: string;
}

/** `structuredContent` of the execution tools. Lengths of time in ms. */
export interface ExecutionReport {
  status: ExecutionStatus;
  /** What `get_execution` finds the run by. */
  execution_id: string;
  /** The kernel's number for the run; null if it gave none. */
  execution_count: number | null;
  /** From when the kernel began with it; 0 if it has not. */
  duration_ms: number;
  kernel: KernelReport;
  cell?: CellReport;
  /** The exception that the code raised. */
  error?: { ename: string; evalue: string };
  /** The setting that ended the waiting or the run. */
  limit?: "timeout" | "interrupt_after";
  /** Why a run did not come to its end. */
  reason?: string;
  /** The text of the content, for clients that hand only this object to their model. */
  output: string;
  /** What of the outputs is left out here, if anything; `full_output` shows more. */
  outputs_dropped?: Omitted;
  /** Why outputs may be missing that the kernel made. */
  incomplete?: (keyof Incompleteness)[];
}

/** A whole MCP tool result. */
export interface ExecutionResult {
  content: ContentBlock[];
  structuredContent: ExecutionReport;
  isError?: true;
}

/** What is known of a run when its call is answered. */
export interface ExecutionFacts {
  executionId: string;
  kernel: KernelReport;
  cell?: CellReport;
  rendering: Rendering;
  /** Undefined while it runs. */
  end: ExecutionEnd | undefined;
  limit: ExecutionReport["limit"];
  executionCount: number | null;
  startedAt: number | null;
  now: number;
  waitLimitMs: number;
  interruptAfterMs: number | undefined;
}

/** @see the file comment */
export function executionResult(facts: ExecutionFacts): ExecutionResult {
  const status = statusOf(facts);
  const notes = notesOn(status, facts);
  const content = [...facts.rendering.content, ...notes.map((text) => ({ type: "text", text: `[${text}]` }) as const)];
  const result: ExecutionResult = { content, structuredContent: reportOf(status, facts, content) };
  if (status !== "completed" && (status !== "still_running" || facts.limit !== "timeout")) result.isError = true;
  return result;
}

/** Some code swallows the interrupt of the run limit and ends well; it has not done all that it would have. */
function statusOf({ end, limit }: ExecutionFacts): ExecutionStatus {
  if (end === undefined) return "still_running";
  return end.state === "completed" && limit === "interrupt_after" && end.interruptSent ? "interrupted" : end.state;
}

function reportOf(status: ExecutionStatus, facts: ExecutionFacts, content: ContentBlock[]): ExecutionReport {
  const { end, rendering, cell, limit } = facts;
  const report: ExecutionReport = {
    status,
    execution_id: facts.executionId,
    execution_count: end?.executionCount ?? facts.executionCount,
    duration_ms: durationMs(facts),
    kernel: facts.kernel,
    output: content.map(textOf).join("\n"),
  };
  if (cell !== undefined) report.cell = cell;
  if (end !== undefined && "error" in end) report.error = { ename: end.error.ename, evalue: end.error.evalue };
  // One that passed as the run ended by itself has ended nothing.
  if (limit !== undefined && status !== "completed") report.limit = limit;
  if (end !== undefined && "reason" in end) report.reason = end.reason;
  if (rendering.omitted !== undefined) report.outputs_dropped = rendering.omitted;
  const incomplete = incompletenessOf(end);
  if (incomplete.length > 0) report.incomplete = incomplete;
  return report;
}

function durationMs({ end, startedAt, now }: ExecutionFacts): number {
  const from = end?.startedAt ?? startedAt;
  return from === null ? 0 : Math.max(0, (end?.endedAt ?? now) - from);
}

function textOf(block: ContentBlock): string {
  return block.type === "text" ? block.text : `[${block.mimeType}, in the content]`;
}

function incompletenessOf(end: ExecutionEnd | undefined): (keyof Incompleteness)[] {
  const kinds = Object.keys(INCOMPLETE) as (keyof Incompleteness)[];
  return kinds.filter((kind) => end?.incomplete[kind] === true);
}

const INCOMPLETE: Readonly<Record<keyof Incompleteness, string>> = {
  rateLimited:
    "output may be missing: the Jupyter Server dropped messages beyond its iopub_msg_rate_limit or iopub_data_rate_limit",
  reconnected: "output may be missing: the connection to the kernel was lost in between",
  tooLarge: "output is missing: a message was larger than the connection takes",
  unrecorded: "output is missing: the run printed more than the kernel keeps for a server that comes back",
  unconfirmed: "the kernel is done, but one of its closing messages was lost; output may be missing",
};

function notesOn(status: ExecutionStatus, facts: ExecutionFacts): string[] {
  const notes = incompletenessOf(facts.end).map((kind) => INCOMPLETE[kind]);
  const lost = LOST_STATE[facts.kernel.origin];
  if (lost !== undefined) notes.push(lost);
  const note = noteOn(status, facts);
  if (note !== undefined) notes.push(note);
  if (facts.cell?.not_saved_because !== undefined) notes.push(facts.cell.not_saved_because);
  return notes;
}

/** What a caller who counts on earlier variables has to know. */
const LOST_STATE: Partial<Record<AssignedKernel["origin"], string>> = {
  restarted: "the kernel was restarted since the last run: the variables of earlier runs are lost",
  replaced: "the kernel of the last run is gone and this is another: the variables of earlier runs are lost",
};

function noteOn(status: ExecutionStatus, facts: ExecutionFacts): string | undefined {
  switch (status) {
    case "completed":
    case "errored":
      return undefined;
    case "still_running":
      return stillRunning(facts);
    case "interrupted":
      return facts.limit === undefined
        ? "interrupted"
        : `interrupted after ${seconds(facts.interruptAfterMs)}: the run limit (interrupt_after) was reached`;
    default:
      return endedBadly(facts.end, facts.kernel);
  }
}

function stillRunning({ limit, executionId, kernel, waitLimitMs, interruptAfterMs }: ExecutionFacts): string {
  if (limit === "interrupt_after") {
    return `still running: it was interrupted after ${seconds(interruptAfterMs)} (interrupt_after), but kernel ${kernel.id} ignores that and stays busy. Restarting the kernel would end it, and lose its variables`;
  }
  return `still running after ${seconds(waitLimitMs)}: the waiting limit of this call (timeout) was reached, the run goes on in kernel ${kernel.id}. Get the rest by get_execution with execution_id ${executionId}`;
}

/** What a person has to know of a run that a kernel did not bring to its end. */
export function endedBadly(
  end: { state: EndState; reason?: string } | undefined,
  { id }: KernelReport,
): string | undefined {
  switch (end?.state) {
    case "kernel_died":
      return `kernel ${id} died: ${end.reason}. Its variables are lost; what was printed before is kept`;
    case "kernel_restarted":
      return `kernel ${id} was restarted during the run: ${end.reason}. Its variables are lost; what was printed before is kept`;
    case "connection_lost":
      return `the connection to kernel ${id} was lost: ${end.reason}. Whether the code ran to its end is not known; what was printed before is kept`;
    case "aborted":
      return `it never ran, and may be sent again: ${end.reason}`;
    default:
      return undefined;
  }
}

/** `text`, which begins small and ends without a stop, as a sentence of its own. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function seconds(ms: number | undefined): string {
  return `${(ms ?? 0) / 1000} s`;
}
