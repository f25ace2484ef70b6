/** A handler run as a direct call: `ctx.task` is `null`, and what it asks goes to its caller. */
import {
  type JsonObject,
  type JsonValue,
  type LogLevel,
  type LogMessage,
  type Outcome,
  type Progress,
  type QuestionRequest,
  QuestionWithdrawnError,
} from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { refuseUndeclared } from "../questions/asker.js";
import type { Tool } from "../tools/tool.js";
import { ASKABLE, type AskedQuestion } from "./task-client.js";
import { checkedAnswer, type Handler, type RunOptions, requestOf, type ToolRun, watchedTool } from "./tool-run.js";

/** Starts `handler` as a plain `tools/call` would. */
export function runDirectly<Args, Returned>(
  handler: Handler<Args, Returned>,
  args: Args,
  options: RunOptions = {},
): DirectRun<Returned> {
  const { tool, returned } = watchedTool(handler, options.config);
  return new DirectRun(tool, args, returned, options);
}

export class DirectRun<Returned> implements ToolRun<Returned> {
  readonly returned: Promise<Awaited<Returned>>;
  readonly clock: FakeClock;
  readonly progress: Progress[] = [];
  readonly logged: LogMessage[] = [];
  /** What the caller gets: a result, a result with `isError`, a throw, or a protocol error. */
  readonly outcome: Promise<Outcome>;
  readonly #capabilities: JsonObject;
  readonly #controller = new AbortController();
  /** Asked and not yet handed out. */
  readonly #asked: AskedQuestion[] = [];
  /** How to take back what is asked. */
  readonly #open = new Set<(why: QuestionWithdrawnError["reason"]) => void>();
  #wake: (() => void)[] = [];
  #isOver = false;

  constructor(tool: Tool, args: unknown, returned: Promise<Awaited<Returned>>, options: RunOptions) {
    this.returned = returned;
    this.clock = options.clock ?? new FakeClock();
    this.#capabilities = options.capabilities ?? ASKABLE;
    const { answers } = options;
    const caller = {
      signal: this.#controller.signal,
      sendProgress: (current: number, said?: Omit<Progress, "current">) => this.progress.push({ current, ...said }) > 0,
      log: (level: LogLevel, data: JsonValue, logger?: string) =>
        this.logged.push({ level, data, ...(logger !== undefined && { logger }) }) > 0,
      asker: { ask: (question: QuestionRequest) => this.#ask(question) },
      ...(answers !== undefined && { answers }),
    };
    this.outcome = tool.callDirectly(args, requestOf(options), caller).finally(() => this.#end());
  }

  /** Cancels the call, as its caller does or as happens when the caller is gone. */
  cancel(): void {
    this.#controller.abort();
    for (const withdraw of this.#open) withdraw("task_ended");
  }

  async question(): Promise<AskedQuestion> {
    for (;;) {
      const next = this.#asked.shift();
      if (next !== undefined) return next;
      if (this.#isOver) throw new Error("The call ended without a further question.");
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async #ask(asked: QuestionRequest): Promise<JsonObject> {
    refuseUndeclared(asked, this.#capabilities);
    const { clock } = this;
    return new Promise((resolve, reject) => {
      const withdraw = (why: QuestionWithdrawnError["reason"]): void => {
        settle();
        reject(new QuestionWithdrawnError(why));
      };
      const timer = asked.timeoutMs && clock.setTimer(() => withdraw("timed_out"), asked.timeoutMs);
      const settle = (): void => {
        this.#open.delete(withdraw);
        if (timer) clock.clearTimer(timer);
      };
      const answer = async (given: JsonObject): Promise<void> => {
        const checked = checkedAnswer(asked, given);
        settle();
        resolve(checked);
      };
      this.#open.add(withdraw);
      this.#asked.push({ method: asked.method, params: asked.params, answer });
      this.#wakeAll();
    });
  }

  #end(): void {
    this.#isOver = true;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
