/** What the tools work with: one Jupyter Server, its kernels and notebooks, the runs, and what calls do not say themselves. */
import type { Clock } from "@claimcheck/core";
import type { Kernels, RenderLimits } from "../execution/index.js";
import type { JupyterRest } from "../kernel/index.js";
import type { NotebookFiles } from "../notebook/index.js";
import type { Executions } from "./executions.js";
import { WaitLimit } from "./wait-limit.js";

/** One Jupyter Server, as long as it lives. */
export interface Site {
  rest: JupyterRest;
  kernels: Kernels;
  notebooks: NotebookFiles;
}

/** @see the file comment */
export interface Workbench {
  /**
   * The server, started first if it is ours to start.
   * @param onProgress told what has to be done for that
   * @throws JupyterError, PrivateServerError
   */
  site(onProgress: (line: string) => void): Promise<Site>;
  readonly executions: Executions;
  /** The notebook of calls that name none. */
  readonly notebook: string | undefined;
  readonly waitLimitMs: number;
  readonly interruptAfterMs: number | undefined;
  readonly clock: Clock;
}

/** The arguments of every tool that waits for a run. */
export interface WaitArguments {
  timeout?: number | undefined;
  full_output: boolean;
}

/** Eight kilobytes of one output are mostly more than enough; five hundred printed lines are not to be cut because they are short. */
const SHORT: Partial<RenderLimits> = { maxOutputLines: 1_000 };
/** What fits into a task's partial output, and into any client's memory. */
const FULL: Partial<RenderLimits> = {
  maxOutputBytes: 1_000_000,
  maxOutputLines: Number.POSITIVE_INFINITY,
  maxTextBytes: 1_000_000,
  maxImages: 50,
};

/** How one call that begins now waits, and what it shows. A `timeout` of 0 means the server's, as it does elsewhere. */
export function waitingOf(
  { timeout, full_output }: WaitArguments,
  { waitLimitMs, clock }: Pick<Workbench, "waitLimitMs" | "clock">,
): { waitLimit: WaitLimit; limits: Partial<RenderLimits>; clock: Clock } {
  const waitLimit = new WaitLimit(timeout ? timeout * 1000 : waitLimitMs, clock);
  return { waitLimit, limits: full_output ? FULL : SHORT, clock };
}

/** After how long a call's run is interrupted; 0 means the server's setting here too. */
export function runLimitOf(
  { interrupt_after }: { interrupt_after?: number | undefined },
  { interruptAfterMs }: Pick<Workbench, "interruptAfterMs">,
): number | undefined {
  return interrupt_after ? interrupt_after * 1000 : interruptAfterMs;
}

/** Whose runs a call may find: the owner of its task. */
export function ownerOf({ owner }: { owner?: unknown }): string {
  return typeof owner === "string" ? owner : "";
}
