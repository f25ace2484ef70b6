/** `get_execution`: a run that goes on although its call was answered, or of which the call did not show everything. */
import type { ToolContext } from "@claimcheck/core";
import type { Tasks } from "@claimcheck/mcp";
import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { answerExecution } from "./answer-execution.js";
import type { ExecutionResult } from "./execution-report.js";
import { lenient } from "./lenient-schema.js";
import { fullOutput, timeout } from "./wait-arguments.js";
import { ownerOf, type Workbench, waitingOf } from "./workbench.js";

interface GetExecutionArguments {
  execution_id: string;
  timeout?: number | undefined;
  full_output: boolean;
}

const inputSchema: StandardSchemaWithJSON<unknown, GetExecutionArguments> = lenient(
  z.object({
    execution_id: z.string().describe("As execute_code or execute_cell answered it."),
    timeout,
    full_output: fullOutput,
  }),
);

const DESCRIPTION =
  "Wait for a run that was still running when execute_code or execute_cell answered, and get all its outputs so far. " +
  "It does not run anything again.";

export function registerGetExecution(tasks: Tasks, server: McpServer, bench: Workbench): void {
  tasks.registerTool(
    server,
    "get_execution",
    {
      title: "Get execution",
      description: DESCRIPTION,
      inputSchema,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    (args, ctx) => getExecution(args, ctx, bench),
  );
}

async function getExecution(args: GetExecutionArguments, ctx: ToolContext, bench: Workbench): Promise<ExecutionResult> {
  const execution = bench.executions.find(ownerOf(ctx.request), args.execution_id);
  if (execution === undefined) {
    throw new Error(`No execution has the id ${args.execution_id}: it is unknown here, or ended some time ago.`);
  }
  return await answerExecution(execution, ctx, { ...waitingOf(args, bench), whenCancelled: "leave" });
}
