/** What the tools that run code declare alike: they can be tasks, are cancelled patiently, and go on after a crash. */
import type { ToolContext } from "@claimcheck/core";
import type { ToolConfig } from "@claimcheck/mcp";
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { ExecutionResult } from "./execution-report.js";
import { resumeExecution } from "./resume-execution.js";
import type { WaitArguments, Workbench } from "./workbench.js";

/**
 * How long cancelling waits for a run to stop: a little longer than the kernel's interrupts take to be found ignored, so
 * that a task never says less than what is known.
 */
const CANCEL_GRACE_MS = 7_000;

/** A process that is lost again and again has not harmed the run: the kernel has. */
const RESUME_TRIES = 100;

type ExecutionConfig<Args> = Pick<
  ToolConfig<StandardSchemaWithJSON<unknown, Args>>,
  "annotations" | "execution" | "cancelGraceMs" | "recovery"
>;

/** @param run what the tool does when nothing is left of an earlier attempt */
export function executionConfig<Args extends WaitArguments>(
  run: (args: Args, ctx: ToolContext, bench: Workbench) => Promise<ExecutionResult>,
  bench: Workbench,
): ExecutionConfig<Args> {
  return {
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    execution: { taskSupport: "optional" },
    cancelGraceMs: CANCEL_GRACE_MS,
    recovery: {
      resume: (args, ctx, checkpoint) => resumeExecution(checkpoint, ctx, bench, args, () => run(args, ctx, bench)),
      tries: RESUME_TRIES,
    },
  };
}
