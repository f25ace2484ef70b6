/** The tools of a process under test: each run writes its beginning, its checkpoints and its end to the journal. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ResumeHandler, Tasks, ToolContext, ToolHandler } from "@claimcheck/mcp";
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Journal } from "./journal.js";
import { TOOLS, type ToolName, type Work } from "./schedule.js";

const INPUT = z.object({
  call: z.string(),
  runMs: z.number(),
  end: z.enum(["return", "throw"]),
  asks: z.boolean(),
  deaf: z.boolean(),
});
const QUESTION = { type: "object", properties: { word: { type: "string" } }, required: ["word"] } as const;

/** In how many steps a tool works; after each it says what it has, and one that can go on keeps where it is. */
const STEPS = 4;

export interface Toolbox {
  journal: Journal;
  epochOf: (taskId: string) => number;
}

export function registerTools(tasks: Tasks, server: McpServer, toolbox: Toolbox): void {
  for (const name of Object.keys(TOOLS) as ToolName[]) {
    const begin: ToolHandler<typeof INPUT> = (work, ctx) => run(name, work, ctx, undefined, toolbox);
    const resume: ResumeHandler<typeof INPUT> = (work, ctx, checkpoint) => run(name, work, ctx, checkpoint, toolbox);
    const recovery = TOOLS[name] === "resume" ? { resume } : TOOLS[name];
    const config = { inputSchema: INPUT, execution: { taskSupport: "required" }, recovery } as const;
    tasks.registerTool(server, name, config, begin);
  }
}

let runs = 0;

async function run(
  tool: ToolName,
  work: Work,
  ctx: ToolContext,
  resumeFrom: unknown,
  { journal, epochOf }: Toolbox,
): Promise<unknown> {
  const taskId = ctx.task?.taskId ?? "";
  const [epoch, run] = [epochOf(taskId), `${process.pid}.${++runs}`];
  journal.write({ event: "start", run, taskId, epoch, owner: String(ctx.request.owner), tool, work, resumeFrom });
  try {
    await takeSteps(tool, work, ctx, Number(resumeFrom ?? 0), (step) =>
      journal.write({ event: "checkpoint", run, taskId, step }),
    );
    const word = work.asks ? await askFor(ctx) : undefined;
    journal.write({ event: "end", run, taskId, how: work.end === "return" ? "returned" : "threw" });
    if (work.end === "throw") throw new Error(`as asked, in ${run}`);
    return { content: [{ type: "text", text: run }], structuredContent: { run, epoch, call: work.call, word } };
  } catch (error) {
    if (ctx.signal.aborted) journal.write({ event: "end", run, taskId, how: "stopped" });
    throw error;
  }
}

async function takeSteps(
  tool: ToolName,
  work: Work,
  ctx: ToolContext,
  from: number,
  kept: (step: number) => void,
): Promise<void> {
  for (let step = from + 1; step <= STEPS; step += 1) {
    await sleep(work.runMs / STEPS, undefined, work.deaf ? {} : { signal: ctx.signal });
    ctx.task?.recordOutput([{ type: "text", text: `step ${step}` }]);
    if (tool === "onward" && (await ctx.task?.checkpoint(step)) === true) kept(step);
  }
}

async function askFor(ctx: ToolContext): Promise<unknown> {
  const answer = await ctx.elicit({ message: "Which word?", requestedSchema: QUESTION });
  return answer.action === "accept" ? answer.content?.word : answer.action;
}
