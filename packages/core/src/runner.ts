/**
 * The seam between the runtime and whatever executes tools. The record and its lease are the truth; a runner only
 * decides when and where an attempt runs. A task that a runner delivers twice runs once, by its lease.
 */

/** Names a task to a runner; nothing else of it goes through a queue. */
export interface Submission {
  taskId: string;
  owner: string;
}

/** What the runtime offers to a runner. */
export interface RunnerHost {
  /** Runs one attempt to its very end: resolves when the tool has really settled, never rejects. */
  run(taskId: string): Promise<void>;
}

export interface Runner {
  /**
   * Whether tasks run in the process that creates them. Creating and leasing are then one write, since the process
   * that holds the queue is the one that would have to be replaced.
   */
  readonly inProcess: boolean;
  open(host: RunnerHost): void | Promise<void>;
  /** Takes one slot if there is room now, so that the next {@link submit} of a reserved task starts at once. */
  reserve(owner: string): boolean;
  /** Gives a slot of {@link reserve} back unused. */
  unreserve(owner: string): void;
  /** Takes a task that the store holds. `reserved`: a slot of {@link reserve} is its. */
  submit(submission: Submission, reserved: boolean): void | Promise<void>;
  /** Takes a task back out of the queue; `false` when it has started or is not here. */
  remove(submission: Submission): boolean | Promise<boolean>;
  /** Starts nothing more. What runs goes on. */
  close(): void | Promise<void>;
}

export interface InProcessRunnerOptions {
  /** How many attempts run at a time. Default: 100. */
  concurrency?: number;
}

/** Runs attempts on this event loop: bounded, and in turn between owners, so that no owner's backlog holds up another. */
export class InProcessRunner implements Runner {
  readonly inProcess = true;
  readonly #concurrency: number;
  /** Owners with something queued, in the order of their turns. */
  readonly #queues = new Map<string, Set<string>>();
  #host: RunnerHost | undefined;
  #busy = 0;

  constructor(options: InProcessRunnerOptions = {}) {
    const concurrency = options.concurrency ?? 100;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`concurrency must be a whole number of at least 1; got ${concurrency}`);
    }
    this.#concurrency = concurrency;
  }

  open(host: RunnerHost): void {
    this.#host = host;
  }

  reserve(): boolean {
    if (this.#busy >= this.#concurrency || this.#queues.size > 0) return false;
    this.#busy += 1;
    return true;
  }

  unreserve(): void {
    this.#busy -= 1;
    this.#startNext();
  }

  submit(submission: Submission, reserved: boolean): void {
    if (reserved) this.#start(submission.taskId);
    else this.#enqueue(submission);
  }

  #enqueue({ owner, taskId }: Submission): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, new Set([taskId]));
    else queue.add(taskId);
    this.#startNext();
  }

  remove(submission: Submission): boolean {
    const queue = this.#queues.get(submission.owner);
    if (queue === undefined || !queue.delete(submission.taskId)) return false;
    if (queue.size === 0) this.#queues.delete(submission.owner);
    return true;
  }

  close(): void {
    this.#queues.clear();
    this.#host = undefined;
  }

  #startNext(): void {
    while (this.#busy < this.#concurrency) {
      const taskId = this.#nextInTurn();
      if (taskId === undefined) return;
      this.#busy += 1;
      this.#start(taskId);
    }
  }

  /** The first task of the owner whose turn it is; that owner then goes to the back. */
  #nextInTurn(): string | undefined {
    const [turn] = this.#queues;
    if (turn === undefined) return undefined;
    const [owner, queue] = turn;
    const [taskId] = queue;
    this.#queues.delete(owner);
    if (taskId === undefined) return undefined;
    queue.delete(taskId);
    if (queue.size > 0) this.#queues.set(owner, queue);
    return taskId;
  }

  #start(taskId: string): void {
    const done = (): void => {
      this.#busy -= 1;
      this.#startNext();
    };
    void this.#host?.run(taskId).then(done, done);
  }
}
