/** Running a handler without any server: what is told to it, and what is seen of it, on a direct call as in a task. */
import type { JsonObject, Logger, LogMessage, Progress } from "@claimcheck/core";
import type { FakeClock } from "@claimcheck/core/testing";
import { checkAnswer } from "../questions/answer.js";
import type { Answers } from "../questions/ask-first.js";
import type { ToolContext } from "../questions/tool-context.js";
import type { AnyToolConfig, AnyToolHandler } from "../tools/config.js";
import { Tool } from "../tools/tool.js";
import type { AskedQuestion } from "./task-client.js";
import type { AskedRequest } from "./task-view.js";

/** A handler, its arguments typed as its input schema puts them out. */
export type Handler<Args, Returned> = (args: Args, ctx: ToolContext) => Returned;

export interface RunOptions {
  /** What the tool is registered with, as far as it matters to the run: limits, grace, output schema, `askFirst`. */
  config?: AnyToolConfig;
  /** What the handler reads in `ctx.request`: `owner`, `principal`, `sessionId`, `clientInfo`, `headers`. Default: an owner. */
  request?: JsonObject;
  /** What the caller can be asked. Default: everything; `{}` is a client that knows no questions. */
  capabilities?: JsonObject;
  /** What the caller has answered to `askFirst`, as in `ctx.answers`. */
  answers?: Answers;
  /** The clock of limits, grace periods and patience. Default: one of the run's own, from 2026-01-01. */
  clock?: FakeClock;
}

/** A handler that runs, or has run. */
export interface ToolRun<Returned> {
  /** What the handler returns or throws, before it becomes a result; of a tool that is tried again, its first try. */
  readonly returned: Promise<Awaited<Returned>>;
  readonly clock: FakeClock;
  /** Everything that it said of its progress, in order. */
  readonly progress: readonly Progress[];
  /** Everything that it logged, of every level, in order. */
  readonly logged: readonly LogMessage[];
  /** The next question that it asks, waited for; each is handed out once. Rejects when the run ends without one. */
  question(): Promise<AskedQuestion>;
}

/** The handler as a tool, and what it returns. */
export function watchedTool<Args, Returned>(
  handler: Handler<Args, Returned>,
  config: AnyToolConfig = {},
): { tool: Tool; returned: Promise<Awaited<Returned>> } {
  let settle: (returned: Awaited<Returned> | Promise<Awaited<Returned>>) => void = () => {};
  const returned = new Promise<Awaited<Returned>>((resolve) => {
    settle = resolve;
  });
  // Whoever looks at the outcome alone need not look at this.
  returned.catch(() => {});
  const watched = async (args: unknown, ctx: ToolContext): Promise<unknown> => {
    const running = (async () => handler(args as Args, ctx))();
    settle(running as Promise<Awaited<Returned>>);
    return running;
  };
  const rules = { maskErrors: false, logger: SILENT };
  return {
    tool: new Tool("tool", { ...config, execution: OPTIONAL }, watched satisfies AnyToolHandler, rules),
    returned,
  };
}

/** A failure is in the outcome; the log would say it again. */
export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const OPTIONAL = { taskSupport: "optional" } as const;

/** The facts of the request, with an owner. */
export function requestOf({ request = {} }: RunOptions): JsonObject & { owner: string } {
  return { ...request, owner: typeof request.owner === "string" ? request.owner : "test-owner" };
}

/** @throws TypeError for what is no answer to the question, as a client of 2026-07-28 would be refused */
export function checkedAnswer(asked: AskedRequest, answer: JsonObject): JsonObject {
  const checked = checkAnswer(asked, answer);
  if ("refused" in checked) throw new TypeError(`The answer is refused: ${checked.refused}.`);
  return checked.answer;
}
