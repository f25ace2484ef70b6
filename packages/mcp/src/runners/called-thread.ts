/** A worker thread as the thread that started it has it: runs one call after the other, and can be ended at any time. */
import { createRequire } from "node:module";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { describeError, type Logger } from "@claimcheck/core";
import {
  BEGUN,
  CANCELLED,
  type FromThread,
  HANDLED,
  SHARED_BYTES,
  type Shared,
  type ToThread,
  thrownOf,
} from "./thread-messages.js";

/** The built program, from the sources too: a thread runs what Node can run. */
const PROGRAM = createRequire(import.meta.url).resolve("#worker-thread");

/** The thread has ended by itself before it had looked at the call: nothing was done, and another thread can do it. */
export class CallNotBegunError extends Error {
  override readonly name = "CallNotBegunError";
}

/** Hears what the thread says of one call. */
export interface ThreadListener {
  take(message: FromThread): void;
  /** The call can come to nothing any more: its thread has ended, or something that it left behind has thrown. */
  fail(error: unknown): void;
}

export class CalledThread {
  /** Called when the thread has ended, whoever ended it. */
  onEnded: () => void = () => {};
  /** Whether it must not be given another call. */
  isSpent = false;
  readonly #worker: Worker;
  readonly #shared: Shared = new Int32Array(new SharedArrayBuffer(SHARED_BYTES));
  readonly #logger: Logger;
  #calls = 0;
  #isEnding = false;
  #listener: ThreadListener | undefined;
  #failure: NodeJS.ErrnoException | undefined;

  constructor(logger: Logger, options: WorkerOptions) {
    this.#logger = logger;
    this.#worker = new Worker(PROGRAM, { ...options, workerData: { shared: this.#shared } });
    // Only a call keeps the process alive.
    this.#worker.unref();
    this.#worker.on("message", (message: FromThread) => this.#take(message));
    this.#worker.on("messageerror", (error) => this.#listener?.fail(error));
    this.#worker.on("error", (error) => this.#failed(error));
    this.#worker.on("exit", (code) => this.#exited(code));
  }

  /** Begins a call; answers its number, which its messages carry. */
  begin(listener: ThreadListener): number {
    this.#calls += 1;
    this.#listener = listener;
    this.#worker.ref();
    return this.#calls;
  }

  /** The call is over; nothing more is heard of it. */
  finish(): void {
    this.#listener = undefined;
    this.#worker.unref();
  }

  /** @throws DataCloneError for what cannot cross */
  send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Tells the call that it is cancelled, or goes on in another process, also where its thread does not listen. */
  cancel(isHandedOver: boolean): void {
    Atomics.store(this.#shared, CANCELLED, isHandedOver ? -this.#calls : this.#calls);
    this.send({ type: "cancel", call: this.#calls });
  }

  /** Ends the thread, whatever it does. Resolves when it has ended. */
  async end(): Promise<void> {
    this.isSpent = true;
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #take(message: FromThread): void {
    Atomics.add(this.#shared, HANDLED, 1);
    Atomics.notify(this.#shared, HANDLED);
    try {
      if (message.type === "stray") this.#takeStray(message);
      else if (message.call === this.#calls) this.#listener?.take(message);
    } catch (error) {
      // What a handler says may be of any type. Here nobody but this call is to suffer for it, and its handler goes on.
      this.isSpent = true;
      this.#listener?.fail(error);
    }
  }

  /** What a call has left behind may go on throwing: the thread gets no other call. */
  #takeStray({ call, error: said }: Extract<FromThread, { type: "stray" }>): void {
    const error = thrownOf(said);
    this.#logger.error({ error: describeError(error) }, "a tool threw outside its call in a worker thread");
    this.isSpent = true;
    if (this.#listener === undefined) void this.end();
    else if (call === this.#calls) this.#listener.fail(error);
  }

  #failed(error: unknown): void {
    this.isSpent = true;
    this.#failure = error instanceof Error ? error : new Error(describeError(error));
    this.#logger.error({ error: describeError(error) }, "a worker thread failed");
  }

  #exited(code: number): void {
    this.isSpent = true;
    const how = `The worker thread ${this.#howItEnded(code)} before the tool had returned.`;
    this.#listener?.fail(this.#wasLeftBehind ? new CallNotBegunError(how) : new Error(how));
    this.onEnded();
  }

  /** A thread that ends of what an earlier call left behind. One that ends before its first call would do so again. */
  get #wasLeftBehind(): boolean {
    return !this.#isEnding && this.#calls > 1 && Atomics.load(this.#shared, BEGUN) !== this.#calls;
  }

  #howItEnded(code: number): string {
    if (this.#failure === undefined) return `ended with exit code ${code}`;
    if (this.#failure.code === "ERR_WORKER_OUT_OF_MEMORY") return "ran out of memory";
    return `failed (${this.#failure.message})`;
  }
}
