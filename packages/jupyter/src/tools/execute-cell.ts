/** `execute_cell`: a cell of a notebook, whose outputs go where a person expects them. */
import type { ToolContext } from "@claimcheck/core";
import type { Tasks } from "@claimcheck/mcp";
import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import {
  type CodeCell,
  cellKey,
  type FoundCell,
  findCodeCell,
  joinLines,
  kernelSpecOf,
  type Notebook,
} from "../notebook/index.js";
import { answerExecution } from "./answer-execution.js";
import { executionConfig } from "./execution-config.js";
import type { ExecutionResult } from "./execution-report.js";
import { lenient } from "./lenient-schema.js";
import { prepared } from "./prepare.js";
import { trackedRun } from "./resume-execution.js";
import { sendableCode } from "./sendable-code.js";
import { fullOutput, interruptAfter, timeout } from "./wait-arguments.js";
import { ownerOf, runLimitOf, type Site, type WaitArguments, type Workbench, waitingOf } from "./workbench.js";

interface ExecuteCellArguments extends WaitArguments {
  interrupt_after?: number | undefined;
  notebook_path?: string | undefined;
  cell_index?: number | undefined;
  cell_id?: string | undefined;
  stream: boolean;
}

const inputSchema: StandardSchemaWithJSON<unknown, ExecuteCellArguments> = lenient(
  z.object({
    notebook_path: z
      .string()
      .optional()
      .describe("The notebook, as a path below the Jupyter Server's root, such as work/train.ipynb."),
    cell_index: z.int().min(0).optional().describe("The cell, counted from 0 over all cells."),
    cell_id: z.string().optional().describe("The cell by its id, which stays the same when cells move."),
    stream: z
      .boolean()
      .default(true)
      .describe("Write outputs to the notebook while the cell runs, and not only at its end."),
    timeout,
    interrupt_after: interruptAfter,
    full_output: fullOutput,
  }),
);

const DESCRIPTION =
  "Run one code cell of a notebook on the notebook's kernel and save its outputs in the notebook. Name the cell by cell_index or cell_id. " +
  "Answers with the outputs, images included. Run as a task for anything long: cancelling it interrupts the cell and keeps what was printed.";

export function registerExecuteCell(tasks: Tasks, server: McpServer, bench: Workbench): void {
  tasks.registerTool(
    server,
    "execute_cell",
    {
      title: "Execute cell",
      description: bench.notebook === undefined ? DESCRIPTION : `${DESCRIPTION} Default notebook: ${bench.notebook}.`,
      inputSchema,
      ...executionConfig(executeCell, bench),
    },
    (args, ctx) => executeCell(args, ctx, bench),
  );
}

async function executeCell(args: ExecuteCellArguments, ctx: ToolContext, bench: Workbench): Promise<ExecutionResult> {
  const path = pathOf(args, bench);
  refuseUnnamedCell(args);
  const waiting = waitingOf(args, bench);
  const ready = await prepared(ctx, bench, waiting.waitLimit, (site) => cellAndKernel(site, path, args));
  const { kernel, origin, code, files, key } = ready;
  ctx.cancelToken.checkCancelled();
  const request = {
    owner: ownerOf(ctx.request),
    code,
    kernelReport: { id: kernel.id, origin },
    interruptAfterMs: runLimitOf(args, bench),
    cell: { files, path, key, live: args.stream },
  };
  const execution = bench.executions.start(await trackedRun(request, kernel, ctx));
  return await answerExecution(execution, ctx, waiting);
}

async function cellAndKernel({ notebooks: files, kernels }: Site, path: string, args: ExecuteCellArguments) {
  const notebook = await files.read(path);
  const { index, cell } = cellOf(notebook, args);
  const code = sendableCode(joinLines(cell.source));
  const assigned = await kernels.forNotebook(path, kernelSpecOf(notebook));
  return { ...assigned, code, files, key: cellKey(notebook, index) };
}

/** There is no notebook that a server remembers from the last call: with two clients it would be the other one's. */
function pathOf({ notebook_path }: ExecuteCellArguments, { notebook }: Workbench): string {
  const path = (notebook_path ?? notebook)?.replace(/^\/+/, "");
  if (path !== undefined && path !== "") return path;
  throw new Error("Which notebook? Pass notebook_path; this server was started without a default notebook.");
}

function refuseUnnamedCell({ cell_index, cell_id }: ExecuteCellArguments): void {
  if (cell_index !== undefined || cell_id !== undefined) return;
  throw new Error("Which cell? Pass cell_index, counted from 0, or cell_id.");
}

function cellOf(notebook: Notebook, { cell_index, cell_id }: ExecuteCellArguments): FoundCell<CodeCell> {
  if (cell_id === undefined) return findCodeCell(notebook, { index: cell_index ?? -1 });
  const found = findCodeCell(notebook, { id: cell_id });
  if (cell_index === undefined || cell_index === found.index) return found;
  throw new Error(
    `cell_id ${JSON.stringify(cell_id)} is the cell with index ${found.index}, and not ${cell_index}. Pass only one of the two.`,
  );
}
