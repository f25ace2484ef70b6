/**
 * The runs of one kernel, one after the other in the order in which they were asked for.
 *
 * They wait here and not in the kernel, because nothing can be taken out of a kernel's queue again. One of ours is at
 * the kernel at any time; the next follows when the kernel is done with it and no interrupt for it is on its way.
 */
import type { ExecuteRequest } from "./execution.js";
import type { AbortCause } from "./execution-end.js";
import { QueuedRun, type QueueOptions, type RunListener, type RunOptions } from "./queued-run.js";

/** All runs of this process on one kernel. */
export class KernelQueue {
  readonly #options: QueueOptions;
  /** In order; the one at the kernel is not among them. */
  readonly #waiting = new Set<QueuedRun>();
  #atKernel: QueuedRun | undefined;
  /** Those that an earlier process has sent: they are at the kernel too, before whatever is sent from now on. */
  readonly #adopted = new Set<QueuedRun>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How many runs are not done, the one at the kernel included. */
  get length(): number {
    return this.#waiting.size + this.#ahead();
  }

  /**
   * Puts a run at the end of the queue.
   * @throws TypeError for metadata or expressions that JSON cannot carry
   */
  submit(request: ExecuteRequest, listener: RunListener = {}, options: RunOptions = {}): QueuedRun {
    JSON.stringify([request.metadata, request.userExpressions]);
    const run = new QueuedRun(this.#options, request, listener, options, {
      positionOf: (asked) => this.#positionOf(asked),
      remove: (asked) => this.#waiting.delete(asked),
    });
    if (options.sentBefore === undefined) this.#waiting.add(run);
    else void this.#adopt(run);
    void this.#advance();
    return run;
  }

  async #advance(): Promise<void> {
    if (this.#atKernel !== undefined || this.#adopted.size > 0) return;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#atKernel = next;
    try {
      await this.#serve(next);
    } finally {
      this.#atKernel = undefined;
    }
    void this.#advance();
  }

  async #adopt(run: QueuedRun): Promise<void> {
    this.#adopted.add(run);
    try {
      await this.#serve(run);
    } finally {
      this.#adopted.delete(run);
    }
    void this.#advance();
  }

  async #serve(run: QueuedRun): Promise<void> {
    run.send();
    const end = await run.ended;
    if (end.state === "kernel_died" || end.state === "kernel_restarted") this.#abortWaiting(end.state, end.reason);
    await run.quiet();
  }

  /** The state that they count on is gone with the kernel's process. */
  #abortWaiting(cause: AbortCause, reason: string): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const run of waiting) run.abort(cause, reason);
  }

  #positionOf(asked: QueuedRun): number {
    if (asked === this.#atKernel || this.#adopted.has(asked)) return 0;
    return [...this.#waiting].indexOf(asked) + this.#ahead();
  }

  /** A run keeps its place at the kernel a little longer than it lasts: until its interrupts have all arrived. */
  #ahead(): number {
    const atKernel = [...this.#adopted, ...(this.#atKernel === undefined ? [] : [this.#atKernel])];
    return atKernel.filter(({ state }) => state.name !== "done").length;
  }
}
