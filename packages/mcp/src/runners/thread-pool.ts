/** A bounded number of worker threads, in turn between owners; a thread without work is kept for a while. */
import { availableParallelism } from "node:os";
import {
  CancelledError,
  type Clock,
  checkOptions,
  durationFrom,
  InProcessRunner,
  type Logger,
  listOfText,
  numberFrom,
  type OptionRules,
  type Timer,
  wholeNumberFrom,
} from "@claimcheck/core";
import { CalledThread, CallNotBegunError } from "./called-thread.js";

export interface WorkerThreadsOptions {
  /** How many threads work at a time. Default: as many as the machine runs in parallel. */
  max?: number;
  /** How long a thread without work is kept, ms. Default: 30 seconds. */
  idleMs?: number;
  /** The heap of one thread, MiB; a call that needs more ends as failed. Default: Node's, which is up to 4 GiB. */
  maxHeapMb?: number;
  /** Node's options in a thread, such as a loader's. Default: those of the process. */
  execArgv?: readonly string[];
}

const OPTIONS: OptionRules<WorkerThreadsOptions> = {
  max: wholeNumberFrom(1),
  idleMs: durationFrom(1),
  maxHeapMb: numberFrom(1),
  execArgv: listOfText,
};

/** Calls that wait for a person take no place; but a thread each, of which there are so many for each that works. */
const WAITING_PER_THREAD = 8;

/** What a job works with. */
export interface ThreadPlace {
  thread: CalledThread;
  /** The job waits for a person, or goes on. */
  setWaiting(isWaiting: boolean): void;
}

/** A job that has, or waits for, a thread. */
export interface ThreadJob<T> {
  /** Rejects with a CancelledError when it was given up before it had a thread. */
  readonly result: Promise<T>;
  /** Does nothing once it has a thread. */
  giveUp(): void;
}

interface Job {
  start(): Promise<void>;
  giveUp(): void;
}

export class ThreadPool {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: Required<Pick<WorkerThreadsOptions, "max" | "idleMs">> & WorkerThreadsOptions;
  /** Whose turn it is: the threads are the places of the runner that tasks have, too. */
  readonly #turns: InProcessRunner;
  readonly #jobs = new Map<string, Job>();
  readonly #waiting = new Set<string>();
  readonly #threads = new Set<CalledThread>();
  /** The last one used is the first one used again, so that the others' time runs out. */
  readonly #idle: { thread: CalledThread; timer: Timer }[] = [];
  #jobsSoFar = 0;

  constructor(options: WorkerThreadsOptions, { clock, logger }: { clock: Clock; logger: Logger }) {
    checkOptions("workerThreads", options, OPTIONS);
    const { max = availableParallelism(), idleMs = 30_000 } = options;
    this.#options = { ...options, max, idleMs };
    this.#clock = clock;
    this.#logger = logger;
    this.#turns = new InProcessRunner({ concurrency: max });
  }

  /** How many threads there are, at work or not. */
  get size(): number {
    return this.#threads.size;
  }

  open(): void {
    this.#turns.open({ run: (jobId) => this.#run(jobId) });
  }

  /** Ends every thread; what still waits for one gives up. */
  async close(): Promise<void> {
    this.#turns.close();
    for (const { giveUp } of this.#jobs.values()) giveUp();
    this.#jobs.clear();
    for (const { timer } of this.#idle.splice(0)) this.#clock.clearTimer(timer);
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  /** Does `work` on a thread as soon as it is the owner's turn; again on another one if that ends before it has begun. */
  job<T>(owner: string, work: (place: ThreadPlace) => Promise<T>): ThreadJob<T> {
    this.#jobsSoFar += 1;
    const taskId = `${this.#jobsSoFar}`;
    const setWaiting = (isWaiting: boolean): void => this.#setWaiting(taskId, isWaiting);
    const result = new Promise<T>((resolve, reject) => {
      this.#jobs.set(taskId, {
        start: () => this.#onThread((thread) => work({ thread, setWaiting })).then(resolve, reject),
        giveUp: () => reject(new CancelledError()),
      });
    });
    this.#turns.submit({ taskId, owner }, false);
    return {
      result,
      giveUp: () => {
        if (!this.#turns.remove({ taskId, owner })) return;
        this.#jobs.get(taskId)?.giveUp();
        this.#jobs.delete(taskId);
      },
    };
  }

  async #run(jobId: string): Promise<void> {
    const job = this.#jobs.get(jobId);
    this.#jobs.delete(jobId);
    await job?.start();
    this.#waiting.delete(jobId);
  }

  #setWaiting(jobId: string, isWaiting: boolean): void {
    if (isWaiting && this.#waiting.size >= this.#options.max * WAITING_PER_THREAD) return;
    if (isWaiting) this.#waiting.add(jobId);
    else this.#waiting.delete(jobId);
    this.#turns.setWaiting(jobId, isWaiting);
  }

  async #onThread<T>(work: (thread: CalledThread) => Promise<T>): Promise<T> {
    for (;;) {
      const thread = this.#take();
      try {
        return await work(thread);
      } catch (error) {
        if (!(error instanceof CallNotBegunError)) throw error;
      } finally {
        this.#release(thread);
      }
    }
  }

  #take(): CalledThread {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      this.#clock.clearTimer(idle.timer);
      if (!idle.thread.isSpent) return idle.thread;
    }
    return this.#start();
  }

  #start(): CalledThread {
    const { maxHeapMb, execArgv } = this.#options;
    const thread = new CalledThread(this.#logger, {
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
      ...(maxHeapMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } }),
    });
    this.#threads.add(thread);
    thread.onEnded = () => {
      this.#threads.delete(thread);
      this.#forget(thread);
    };
    return thread;
  }

  #release(thread: CalledThread): void {
    if (thread.isSpent) {
      void thread.end();
      return;
    }
    const timer = this.#clock.setTimer(() => {
      this.#forget(thread);
      void thread.end();
    }, this.#options.idleMs);
    this.#idle.push({ thread, timer });
  }

  #forget(thread: CalledThread): void {
    const at = this.#idle.findIndex((idle) => idle.thread === thread);
    if (at === -1) return;
    for (const { timer } of this.#idle.splice(at, 1)) this.#clock.clearTimer(timer);
  }
}
