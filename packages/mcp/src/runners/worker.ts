/**
 * The runner `"worker"`: the handler is in a module of its own and runs in a worker thread, where it may take the processor
 * for as long as it likes. It has the context of any handler; here, what it does with that is done with the real one.
 */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CancelledError, type Clock, HandedOverError, type JsonValue, type Logger } from "@claimcheck/core";
import { ELICIT, type FormQuestion, LIST_ROOTS, SAMPLE } from "../questions/question.js";
import type { ToolContext } from "../questions/tool-context.js";
import type { AnyToolHandler } from "../tools/config.js";
import type { CalledThread, ThreadListener } from "./called-thread.js";
import {
  type FromThread,
  type ThreadRequest,
  type ThrownMessage,
  type ToThread,
  thrownMessage,
  thrownOf,
} from "./thread-messages.js";
import { type ThreadPlace, ThreadPool, type WorkerThreadsOptions } from "./thread-pool.js";
import { untilStopped } from "./until-stopped.js";

/** A module reference that has been checked. */
interface CheckedModule {
  module: string;
  exportName: string;
}

export class WorkerThreads {
  readonly #pool: ThreadPool;
  readonly #clock: Clock;
  #isClosed = false;

  constructor(options: WorkerThreadsOptions, host: { clock: Clock; logger: Logger }) {
    this.#pool = new ThreadPool(options, host);
    this.#clock = host.clock;
  }

  /**
   * The handler of a tool whose work is in `implementation`. `graceMs`: how long a cancelled call has before its thread is ended.
   * @throws TypeError when that is no module that can be called
   */
  handler(toolName: string, implementation: unknown, graceMs: number): AnyToolHandler {
    const what = checkedModule(toolName, implementation);
    return async (input, ctx, checkpoint) => {
      ctx.cancelToken.checkCancelled();
      if (this.#isClosed) throw new Error("The server is closing: no worker thread is used any more.");
      let call: CallOnThread | undefined;
      const job = this.#pool.job(String(ctx.request.owner ?? ""), (place) => {
        ctx.cancelToken.checkCancelled();
        call = new CallOnThread({ what, input, checkpoint, ctx, graceMs, clock: this.#clock, ...place });
        return call.run();
      });
      const stoppable = {
        stop: () => (call === undefined ? job.giveUp() : call.cancel()),
        end: () => call?.end(),
      };
      return untilStopped(job.result, stoppable, ctx, { clock: this.#clock, graceMs });
    };
  }

  open(): void {
    this.#isClosed = false;
    this.#pool.open();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#pool.close();
  }
}

interface CallOptions extends ThreadPlace {
  what: CheckedModule;
  input: unknown;
  checkpoint: JsonValue | undefined;
  ctx: ToolContext;
  graceMs: number;
  clock: Clock;
}

class CallOnThread implements ThreadListener {
  readonly #options: CallOptions;
  readonly #ctx: ToolContext;
  readonly #thread: CalledThread;
  readonly #result: Promise<unknown>;
  #resolve: (value: unknown) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #number = 0;
  #isCancelled = false;
  #isOver = false;
  #ending: Promise<void> | undefined;
  readonly #outputs: JsonValue[] = [];
  /** How many questions wait for their answer. */
  #asked = 0;
  /** The handler's interrupts that can stop harder. */
  readonly #escalating: number[] = [];
  /** Who waits for an interrupt that the thread was told to call. */
  readonly #interrupting: ((error?: ThrownMessage) => void)[] = [];

  constructor(options: CallOptions) {
    this.#options = options;
    this.#ctx = options.ctx;
    this.#thread = options.thread;
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  async run(): Promise<unknown> {
    const { what, input, checkpoint } = this.#options;
    const { answers, request, task } = this.#ctx;
    this.#number = this.#thread.begin(this);
    const taskId = task?.taskId ?? null;
    try {
      this.#thread.send({ type: "call", call: this.#number, ...what, input, answers, request, checkpoint, taskId });
      return await this.#result;
    } catch (error) {
      if ((error as Error | undefined)?.name !== "DataCloneError") throw error;
      throw new TypeError(`The arguments cannot be handed to a worker thread: ${(error as Error).message}`);
    } finally {
      this.#isOver = true;
      this.#thread.finish();
      for (const done of this.#interrupting) done();
    }
  }

  /** Tells the handler; it has its grace to stop by itself. */
  cancel(): void {
    this.#isCancelled = true;
    if (!this.#isOver) this.#thread.cancel(this.#ctx.signal.reason instanceof HandedOverError);
  }

  /** Ends the thread, after what the handler registered to stop harder has had a moment. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#isCancelled = true;
    if (this.#escalating.length > 0) {
      const { clock, graceMs } = this.#options;
      const moment = new Promise<void>((resolve) => void clock.setTimer(resolve, graceMs / 2));
      await Promise.race([Promise.all(this.#escalating.map((id) => this.#interrupt(id, true))), moment]);
    }
    if (!this.#isOver) await this.#thread.end();
  }

  fail(error: unknown): void {
    this.#reject(this.#isCancelled ? new CancelledError() : error);
  }

  take(message: FromThread): void {
    switch (message.type) {
      case "progress":
        this.#ctx.sendProgress(message.current, message.options);
        break;
      case "log":
        this.#ctx.log(message.level, message.data, message.logger);
        break;
      case "output":
        this.#outputs.length = message.from;
        for (const output of message.outputs) this.#outputs.push(output);
        this.#ctx.task?.recordOutput(this.#outputs);
        break;
      case "interrupt_registered":
        if (message.escalates) this.#escalating.push(message.id);
        this.#ctx.task?.registerInterrupt(() => this.#interrupt(message.id, false));
        break;
      case "interrupted":
        this.#interrupting[message.to]?.(message.error);
        break;
      case "request":
        void this.#answer(message.id, message.request);
        break;
      case "returned":
        this.#resolve(JSON.parse(message.json));
        break;
      case "threw":
        this.#reject(thrownOf(message.error));
    }
  }

  /** Calls an interrupt of the handler's, where it is; rejects with what it throws. */
  #interrupt(id: number, escalate: boolean): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const answerTo =
        this.#interrupting.push((error) => (error === undefined ? resolve() : reject(thrownOf(error)))) - 1;
      this.#send({ type: "interrupt", call: this.#number, id, escalate, answerTo });
    });
  }

  async #answer(to: number, request: ThreadRequest): Promise<void> {
    try {
      this.#send({ type: "reply", to, value: await this.#do(request) });
    } catch (thrown) {
      this.#send({ type: "refusal", to, error: thrownMessage(thrown) });
    }
  }

  #send(message: ToThread): void {
    if (!this.#isOver) this.#thread.send(message);
  }

  async #do(request: ThreadRequest): Promise<unknown> {
    const { task } = this.#ctx;
    switch (request.method) {
      case "requireInput":
        return (await task?.requireInput(request.message)) ?? false;
      case "setWorking":
        return (await task?.setWorking(request.message)) ?? false;
      case "checkpoint":
        return (await task?.checkpoint(request.value)) ?? false;
      case "ask":
        return this.#ask(request);
    }
  }

  /** Whoever waits for a person holds up nobody. */
  async #ask({ ofTask, question }: Extract<ThreadRequest, { method: "ask" }>): Promise<unknown> {
    this.#asked += 1;
    this.#options.setWaiting(true);
    try {
      return await (ofTask && this.#ctx.task !== null ? this.#ctx.task.ask(question) : askThrough(this.#ctx, question));
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0 && !this.#isOver) this.#options.setWaiting(false);
    }
  }
}

type Question = Extract<ThreadRequest, { method: "ask" }>["question"];

/** A handler in a thread asks in the same words as any other; they have been put into a request, which is put back here. */
function askThrough(ctx: ToolContext, { method, params, timeoutMs }: Question): Promise<unknown> {
  const patience = timeoutMs === undefined ? {} : { timeoutMs };
  switch (method) {
    case ELICIT:
      return ctx.elicit({ ...(params as unknown as FormQuestion), ...patience });
    case SAMPLE:
      return ctx.sample(params, patience);
    case LIST_ROOTS:
      return ctx.listRoots(patience);
    default:
      throw new TypeError(`A tool cannot ask ${method}.`);
  }
}

function checkedModule(toolName: string, implementation: unknown): CheckedModule {
  const refuse = (why: string): never => {
    throw new TypeError(`Tool ${toolName} has the runner "worker", so its handler must be { module, export }: ${why}.`);
  };
  if (typeof implementation === "function") return refuse("a function cannot be handed to a thread, a module can");
  if (typeof implementation !== "object" || implementation === null) return refuse(`it is ${typeof implementation}`);
  const { module, export: exportName = "default" } = implementation as Record<string, unknown>;
  if (typeof exportName !== "string" || exportName === "") return refuse("export must be the name of a function");
  const url = fileUrlOf(module);
  if (url === undefined) {
    return refuse(`module must be a file: URL, such as new URL("./work.js", import.meta.url); it is ${String(module)}`);
  }
  if (!existsSync(url)) return refuse(`there is no file ${fileURLToPath(url)}`);
  return { module: url.href, exportName };
}

/** A relative path would mean a file beside this module, or wherever the process was started. */
function fileUrlOf(module: unknown): URL | undefined {
  if (typeof module === "string" && isAbsolute(module)) return pathToFileURL(module);
  if (!(module instanceof URL) && (typeof module !== "string" || !URL.canParse(module))) return undefined;
  const url = new URL(module);
  return url.protocol === "file:" ? url : undefined;
}
