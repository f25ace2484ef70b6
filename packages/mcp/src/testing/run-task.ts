/** A handler run as a task by the real runtime, in memory, on a clock that the test moves. */
import {
  isTerminal,
  type JsonObject,
  type JsonValue,
  type LogMessage,
  outstandingQuestions,
  type Progress,
  type Question,
  runInTask,
  type TaskHandle,
  type TaskNews,
  type TaskRecord,
  TaskRuntime,
  type TerminalTask,
  type ToolDefinition,
} from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { ASKABLE, type AskedQuestion } from "./task-client.js";
import {
  checkedAnswer,
  type Handler,
  type RunOptions,
  requestOf,
  SILENT,
  type ToolRun,
  watchedTool,
} from "./tool-run.js";

/**
 * Starts `handler` as a task; `ctx` is what it would get from a server. Resolves when the task is there. A tool's `resume` is
 * a handler too: `(args, ctx) => resume(args, ctx, checkpoint)`.
 */
export async function runTask<Args, Returned>(
  handler: Handler<Args, Returned>,
  args: Args,
  options: RunOptions = {},
): Promise<TaskRun<Returned>> {
  const { tool, returned } = watchedTool(handler, options.config);
  const clock = options.clock ?? new FakeClock();
  const run = new TaskRun(returned, clock);
  await run.start(tool.definition(), args, options);
  return run;
}

export class TaskRun<Returned> implements ToolRun<Returned> {
  readonly returned: Promise<Awaited<Returned>>;
  readonly clock: FakeClock;
  readonly progress: Progress[] = [];
  readonly logged: LogMessage[] = [];
  /** The statuses and messages that the task has had, in order: what a client could have seen. */
  readonly statuses: { status: TaskRecord["status"]; message: string | undefined }[] = [
    { status: "working", message: undefined },
  ];
  readonly #runtime: TaskRuntime;
  readonly #asked = new Set<string>();
  #output: readonly JsonValue[] = [];
  #record: TaskRecord | undefined;
  #ended: Promise<TerminalTask> | undefined;

  constructor(returned: Promise<Awaited<Returned>>, clock: FakeClock) {
    this.returned = returned;
    this.clock = clock;
    this.#runtime = new TaskRuntime({ clock, logger: SILENT });
  }

  /** The record as it now is: status, message, checkpoint, questions, outcome and all that is kept. */
  get record(): TaskRecord {
    if (this.#record === undefined) throw new Error("The task has not been started.");
    return this.#record;
  }

  /** What the handler last gave to `recordOutput`; the record has it a little later. */
  get output(): readonly JsonValue[] {
    return this.#output;
  }

  /** Resolves with the record when the task has ended: completed, failed or cancelled. */
  get ended(): Promise<TerminalTask> {
    this.#ended ??= this.until(isTerminal) as Promise<TerminalTask>;
    return this.#ended;
  }

  /** Resolves with the record as soon as `holds` does, or the task has ended. */
  async until(holds: (record: TaskRecord) => boolean): Promise<TaskRecord> {
    const { owner, taskId } = this.record;
    return (await this.#runtime.wait(owner, taskId, { until: holds })) ?? this.record;
  }

  /**
   * Cancels the task as a client does: abort signal, interrupts, and after the grace period what escalates. Resolves when
   * it has ended; for a handler that does not stop, move the clock past its grace.
   */
  async cancel(): Promise<TerminalTask> {
    const { owner, taskId } = this.record;
    await this.#runtime.cancel(owner, taskId);
    return this.ended;
  }

  async question(): Promise<AskedQuestion> {
    const next = (record: TaskRecord) => outstandingQuestions(record).find(({ key }) => !this.#asked.has(key));
    const record = await this.until((now) => next(now) !== undefined);
    const question = next(record);
    if (question === undefined) throw new Error(`The task ended ${record.status} without a further question.`);
    this.#asked.add(question.key);
    const { method, params } = question;
    return { method, params, answer: (answer) => this.#answer(question, answer) };
  }

  async #answer(question: Question, answer: JsonObject): Promise<void> {
    const { owner, taskId } = this.record;
    await this.#runtime.answer(owner, taskId, question.key, checkedAnswer(question, answer));
  }

  /** For {@link runTask}. */
  async start(definition: ToolDefinition, input: unknown, options: RunOptions): Promise<void> {
    await this.#runtime.open();
    this.#runtime.define(this.#observed(definition));
    const request = requestOf(options);
    request.clientCapabilities = options.capabilities ?? ASKABLE;
    request.answers = { ...options.answers };
    const { name: toolName } = definition;
    const watcher = (news: TaskNews): boolean => this.#hear(news);
    const call = { owner: request.owner, toolName, arguments: {}, request, input, watcher };
    const { task } = await this.#runtime.create(call);
    this.#record ??= task;
    const close = () => this.#runtime.close();
    void Promise.all([this.ended, this.returned.catch(() => {})]).then(close);
  }

  /** The tool with its outputs heard, from the handle and ambiently alike. */
  #observed(definition: ToolDefinition): ToolDefinition {
    return {
      ...definition,
      handler: (args, context) => {
        const task = heard(context.task as TaskHandle, (outputs) => {
          this.#output = outputs;
        });
        const { signal, cancelToken, sendProgress, log, request, input } = context;
        return runInTask(task, () =>
          definition.handler(args, { signal, cancelToken, sendProgress, log, request, input, task }),
        );
      },
    };
  }

  /** Answers `true` for what is logged: it is heard. */
  #hear(news: TaskNews): boolean {
    if (news.type === "progress") this.progress.push(news.progress);
    if (news.type === "log") this.logged.push(news.message);
    if (news.type === "changed") this.#see(news.task);
    return news.type === "log";
  }

  #see(task: TaskRecord): void {
    this.#record = task;
    const { status, statusMessage: message } = task;
    const last = this.statuses.at(-1);
    if (status !== last?.status || message !== last.message) this.statuses.push({ status, message });
  }
}

/** The handle itself, but for what it is told of outputs. */
function heard(handle: TaskHandle, onOutput: (outputs: readonly JsonValue[]) => void): TaskHandle {
  const recordOutput = (outputs: readonly JsonValue[]): boolean => {
    const isTaken = handle.recordOutput(outputs);
    if (isTaken) onOutput(outputs.slice());
    return isTaken;
  };
  return new Proxy(handle, {
    get: (target, member) => {
      if (member === "recordOutput") return recordOutput;
      const value: unknown = Reflect.get(target, member, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
