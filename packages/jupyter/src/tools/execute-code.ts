/** `execute_code`: code that is in no notebook. */
import type { ToolContext } from "@claimcheck/core";
import type { Tasks } from "@claimcheck/mcp";
import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { AssignedKernel } from "../execution/index.js";
import { answerExecution } from "./answer-execution.js";
import { executionConfig } from "./execution-config.js";
import type { ExecutionResult } from "./execution-report.js";
import { lenient } from "./lenient-schema.js";
import { prepared } from "./prepare.js";
import { trackedRun } from "./resume-execution.js";
import { sendableCode } from "./sendable-code.js";
import { fullOutput, interruptAfter, timeout } from "./wait-arguments.js";
import { ownerOf, runLimitOf, type Site, type WaitArguments, type Workbench, waitingOf } from "./workbench.js";

interface ExecuteCodeArguments extends WaitArguments {
  interrupt_after?: number | undefined;
  code: string;
  kernel_id?: string | undefined;
}

const inputSchema: StandardSchemaWithJSON<unknown, ExecuteCodeArguments> = lenient(
  z.object({
    code: z.string().describe("What to run, as in a notebook cell."),
    kernel_id: z
      .string()
      .optional()
      .describe(
        "A running kernel, such as a notebook's. Default: a kernel of this server's own, whose variables last.",
      ),
    timeout,
    interrupt_after: interruptAfter,
    full_output: fullOutput,
  }),
);

const DESCRIPTION =
  "Run code in a Jupyter kernel without saving it to a notebook. Answers with the outputs, images included. " +
  "Run as a task for anything long: cancelling it interrupts the kernel and keeps what was printed.";

export function registerExecuteCode(tasks: Tasks, server: McpServer, bench: Workbench): void {
  tasks.registerTool(
    server,
    "execute_code",
    {
      title: "Execute code",
      description: DESCRIPTION,
      inputSchema,
      ...executionConfig(executeCode, bench),
    },
    (args, ctx) => executeCode(args, ctx, bench),
  );
}

async function executeCode(args: ExecuteCodeArguments, ctx: ToolContext, bench: Workbench): Promise<ExecutionResult> {
  const code = sendableCode(args.code);
  const waiting = waitingOf(args, bench);
  const owner = ownerOf(ctx.request);
  const { kernel, origin } = await prepared(ctx, bench, waiting.waitLimit, (site) => kernelOf(site, args, owner));
  ctx.cancelToken.checkCancelled();
  const request = {
    owner,
    code,
    kernelReport: { id: kernel.id, origin },
    interruptAfterMs: runLimitOf(args, bench),
  };
  const execution = bench.executions.start(await trackedRun(request, kernel, ctx));
  return await answerExecution(execution, ctx, waiting);
}

function kernelOf({ kernels }: Site, { kernel_id }: ExecuteCodeArguments, owner: string): Promise<AssignedKernel> {
  return kernel_id === undefined ? kernels.forSnippets(owner) : kernels.withId(kernel_id);
}
