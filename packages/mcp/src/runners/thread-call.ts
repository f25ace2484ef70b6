/** One call as its handler sees it in a worker thread: the context of any handler, whose real one is in another thread. */
import {
  CancelSource,
  type CancelToken,
  HandedOverError,
  type Interrupt,
  type InterruptOptions,
  type JsonObject,
  type JsonValue,
  type Log,
  type QuestionRequest,
  QuestionWithdrawnError,
  type TaskHandle,
  type ToolContext,
} from "@claimcheck/core";
import { asSaid } from "../logging.js";
import type { Asker } from "../questions/asker.js";
import { SaidOutputs } from "./output-changes.js";
import {
  CANCELLED,
  type CallMessage,
  type FromThread,
  type Shared,
  type ThreadRequest,
  type ToThread,
  thrownMessage,
  thrownOf,
} from "./thread-messages.js";

/** How long after it was said the whole of a long list of outputs is looked at. */
const LOOK_AGAIN_MS = 100;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export class ThreadCall {
  readonly number: number;
  readonly context: ToolContext;
  readonly asker: Asker;
  /** `null` of a direct call. */
  readonly task: TaskHandle | null;
  readonly #shared: Shared;
  readonly #post: (message: FromThread) => void;
  readonly #cancelSource = new CancelSource();
  readonly #interrupts: { stop: Interrupt; escalate: Interrupt | undefined }[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #said = new SaidOutputs();
  /** The outputs as they were said last, where not all of them have been looked at since. */
  #unseen: readonly JsonValue[] | undefined;
  #looking: NodeJS.Timeout | undefined;
  #requests = 0;
  #isOver = false;

  constructor(message: CallMessage, shared: Shared, post: (message: FromThread) => void) {
    this.number = message.call;
    this.#shared = shared;
    this.#post = post;
    this.task = message.taskId === null ? null : this.#taskHandle(message.taskId);
    this.context = this.#context(message, this.task);
    this.asker = { ask: (question) => this.#ask(question, false) };
  }

  /** The handler has settled; what it left behind says nothing more. */
  end(): void {
    clearTimeout(this.#looking);
    this.#lookAgain();
    this.#isOver = true;
    this.#cancelSource.close();
    for (const { reject } of this.#waiting.values()) reject(new QuestionWithdrawnError("task_ended"));
    this.#waiting.clear();
  }

  take(message: Exclude<ToThread, CallMessage>): void {
    switch (message.type) {
      case "cancel":
        this.#look();
        break;
      case "interrupt":
        if (message.call === this.number) void this.#interrupt(message);
        break;
      case "reply":
        this.#settle(message.to, ({ resolve }) => resolve(message.value));
        break;
      case "refusal":
        this.#settle(message.to, ({ reject }) => reject(thrownOf(message.error)));
    }
  }

  #context({ request, input }: CallMessage, task: TaskHandle | null): ToolContext {
    const signal = (): AbortSignal => {
      this.#look();
      return this.#cancelSource.signal;
    };
    return {
      get signal() {
        return signal();
      },
      cancelToken: this.#cancelToken(),
      task,
      sendProgress: (current, options) => this.#sendProgress(current, options),
      log: this.#log,
      request,
      input,
    };
  }

  /** A loop that never lets go of its thread hears no message; it can still look. */
  #look(): void {
    const cancelled = Atomics.load(this.#shared, CANCELLED);
    if (cancelled === this.number) this.#cancelSource.cancel();
    else if (cancelled === -this.number) this.#cancelSource.cancel(new HandedOverError());
  }

  #cancelToken(): CancelToken {
    return {
      isCancelled: () => {
        this.#look();
        return this.#cancelSource.isCancelled();
      },
      checkCancelled: () => {
        this.#look();
        this.#cancelSource.checkCancelled();
      },
      wait: () => {
        this.#look();
        return this.#cancelSource.wait();
      },
    };
  }

  #taskHandle(taskId: string): TaskHandle {
    return {
      taskId,
      sendProgress: (current, options) => this.#sendProgress(current, options),
      recordOutput: (outputsSoFar) => this.#recordOutput(outputsSoFar),
      registerInterrupt: (stop, options) => this.#registerInterrupt(stop, options),
      requireInput: (message) => this.#tell({ method: "requireInput", message }),
      setWorking: (message) => this.#tell({ method: "setWorking", message }),
      ask: (question) => this.#ask(question, true),
      checkpoint: (value) => this.#tell({ method: "checkpoint", value }),
    };
  }

  #sendProgress(current: number, options?: { total?: number; message?: string }): boolean {
    return Number.isFinite(current) && this.#say(() => ({ type: "progress", current, options }));
  }

  readonly #log: Log = (level, data, logger) => {
    const said = asSaid(data);
    return said !== undefined && this.#say(() => ({ type: "log", level, data: said, logger }));
  };

  #recordOutput(outputsSoFar: readonly JsonValue[]): boolean {
    const isHeard = this.#say(() => ({ type: "output", ...this.#said.changesTo(outputsSoFar) }));
    this.#unseen = this.#said.isBehind ? outputsSoFar.slice() : undefined;
    if (this.#unseen !== undefined) this.#looking ??= setTimeout(() => this.#lookAgain(), LOOK_AGAIN_MS).unref();
    return isHeard;
  }

  /** What an earlier output has become is said as well, if a little later. */
  #lookAgain(): void {
    const unseen = this.#unseen;
    this.#unseen = undefined;
    this.#looking = undefined;
    if (unseen === undefined) return;
    try {
      this.#say(() => ({ type: "output", ...this.#said.changesTo(unseen, true) }));
    } catch {
      // What has come into it since cannot cross: as it was it has been said.
    }
  }

  #registerInterrupt(stop: Interrupt, { escalate }: InterruptOptions = {}): boolean {
    return this.#say(() => {
      const id = this.#interrupts.push({ stop, escalate }) - 1;
      return { type: "interrupt_registered", id, escalates: escalate !== undefined };
    });
  }

  /** Answers whether it still counts, as far as this thread knows. */
  #say(message: () => Unaddressed): boolean {
    if (this.#isOver) return false;
    this.#post({ ...message(), call: this.number } as FromThread);
    return true;
  }

  async #tell(request: ThreadRequest): Promise<boolean> {
    return this.#isOver ? false : ((await this.#request(request)) as boolean);
  }

  async #ask(question: QuestionRequest, ofTask: boolean): Promise<JsonObject> {
    if (this.#isOver) throw new QuestionWithdrawnError("task_ended");
    return (await this.#request({ method: "ask", ofTask, question })) as JsonObject;
  }

  #request(request: ThreadRequest): Promise<unknown> {
    const id = this.#requests++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#post({ type: "request", call: this.number, id, request });
    });
  }

  #settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || !this.#waiting.delete(id)) return;
    how(waiting);
  }

  async #interrupt({ id, escalate, answerTo }: Extract<ToThread, { type: "interrupt" }>): Promise<void> {
    const interrupt = this.#isOver ? undefined : this.#interrupts[id]?.[escalate ? "escalate" : "stop"];
    try {
      await interrupt?.();
      this.#post({ type: "interrupted", call: this.number, to: answerTo });
    } catch (thrown) {
      this.#post({ type: "interrupted", call: this.number, to: answerTo, error: thrownMessage(thrown) });
    }
  }
}

/** A message of a call, but for its number. */
type Unaddressed = FromThread extends infer Message
  ? Message extends { call: number }
    ? Omit<Message, "call">
    : never
  : never;
