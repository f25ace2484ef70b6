/**
 * The seam between the runtime and whatever executes tools. The record and its lease are the truth; a runner only
 * decides when and where an attempt runs. A task that a runner delivers twice runs once, by its lease.
 */
import { Fifo } from "./fifo.js";
import { checkOptions, type OptionRules, wholeNumberFrom } from "./options.js";

/** Names a task to a runner; nothing else of it goes through a queue. */
export interface Submission {
  taskId: string;
  owner: string;
}

/** What the runtime offers to a runner. */
export interface RunnerHost {
  /** Runs one attempt: resolves when the tool has really settled, never rejects. Its place is free then. */
  run(taskId: string): Promise<void>;
}

export interface Runner {
  /**
   * Whether tasks run in the process that creates them. Creating and leasing are then one write, since the process
   * that holds the queue is the one that would have to be replaced.
   */
  readonly inProcess: boolean;
  /** How many tasks wait here for their turn. Left out where the queue is elsewhere. */
  readonly queued?: number;
  open(host: RunnerHost): void | Promise<void>;
  /** Takes one slot if there is room now, so that the next {@link submit} of a reserved task starts at once. */
  reserve(owner: string): boolean;
  /** Gives a slot of {@link reserve} back unused. */
  unreserve(owner: string): void;
  /** Takes a task that the store holds. `reserved`: a slot of {@link reserve} is its. */
  submit(submission: Submission, reserved: boolean): void | Promise<void>;
  /** Takes a task back out of the queue; `false` when it has started or is not here. */
  remove(submission: Submission): boolean | Promise<boolean>;
  /**
   * The task waits for a person, or (`false`) does so no more: work that stands still holds up no other. What goes on after
   * a wait goes on at once, so that for a moment more may run than the runner would start.
   */
  setWaiting?(taskId: string, isWaiting: boolean): void;
  /** Starts nothing more. What runs goes on. */
  close(): void | Promise<void>;
}

export interface InProcessRunnerOptions {
  /** How many attempts run at a time. Default: 100. */
  concurrency?: number;
}

const OPTIONS: OptionRules<InProcessRunnerOptions> = { concurrency: wholeNumberFrom(1) };

/** What one owner has queued. Whoever is taken out of `waiting` stays in `order` until its turn passes it over. */
interface Backlog {
  owner: string;
  order: Fifo<string>;
  waiting: Set<string>;
}

/** Runs attempts on this event loop: bounded, and in turn between owners, so that no owner's backlog holds up another. */
export class InProcessRunner implements Runner {
  readonly inProcess = true;
  readonly #concurrency: number;
  readonly #backlogs = new Map<string, Backlog>();
  /** The backlogs in the order of their turns. */
  #turns: Fifo<Backlog> = new Fifo();
  #host: RunnerHost | undefined;
  #busy = 0;
  #queued = 0;
  /** Tasks that run here and wait for a person: they take no place. */
  readonly #waiting = new Set<string>();

  constructor(options: InProcessRunnerOptions = {}) {
    checkOptions("InProcessRunner", options, OPTIONS);
    this.#concurrency = options.concurrency ?? 100;
  }

  get queued(): number {
    return this.#queued;
  }

  open(host: RunnerHost): void {
    this.#host = host;
  }

  reserve(): boolean {
    if (this.#host === undefined || this.#busy >= this.#concurrency || this.#backlogs.size > 0) return false;
    this.#busy += 1;
    return true;
  }

  unreserve(): void {
    this.#busy -= 1;
    this.#startNext();
  }

  submit({ owner, taskId }: Submission, reserved: boolean): void {
    if (reserved) this.#start(taskId);
    else this.#enqueue(owner, taskId);
  }

  remove({ owner, taskId }: Submission): boolean {
    const backlog = this.#backlogs.get(owner);
    if (backlog === undefined || !backlog.waiting.delete(taskId)) return false;
    this.#queued -= 1;
    if (backlog.waiting.size === 0) this.#backlogs.delete(owner);
    return true;
  }

  close(): void {
    this.#host = undefined;
    this.#backlogs.clear();
    this.#queued = 0;
    this.#turns = new Fifo();
  }

  #enqueue(owner: string, taskId: string): void {
    let backlog = this.#backlogs.get(owner);
    if (backlog === undefined) {
      backlog = { owner, order: new Fifo(), waiting: new Set() };
      this.#backlogs.set(owner, backlog);
      this.#turns.push(backlog);
    }
    backlog.order.push(taskId);
    backlog.waiting.add(taskId);
    this.#queued += 1;
    this.#startNext();
  }

  #startNext(): void {
    while (this.#host !== undefined && this.#busy < this.#concurrency) {
      const taskId = this.#nextInTurn();
      if (taskId === undefined) return;
      this.#queued -= 1;
      this.#busy += 1;
      this.#start(taskId);
    }
  }

  /** The first task of the owner whose turn it is; that owner then goes to the back. */
  #nextInTurn(): string | undefined {
    for (let backlog = this.#turns.shift(); backlog !== undefined; backlog = this.#turns.shift()) {
      const taskId = firstWaiting(backlog);
      // An owner whose whole backlog was removed may have a new one, which has a turn of its own.
      if (backlog.waiting.size > 0) this.#turns.push(backlog);
      else if (this.#backlogs.get(backlog.owner) === backlog) this.#backlogs.delete(backlog.owner);
      if (taskId !== undefined) return taskId;
    }
    return undefined;
  }

  setWaiting(taskId: string, isWaiting: boolean): void {
    if (this.#waiting.has(taskId) === isWaiting) return;
    if (isWaiting) this.#waiting.add(taskId);
    else this.#waiting.delete(taskId);
    this.#busy += isWaiting ? -1 : 1;
    this.#startNext();
  }

  #start(taskId: string): void {
    const done = (): void => {
      if (!this.#waiting.delete(taskId)) this.#busy -= 1;
      this.#startNext();
    };
    if (this.#host === undefined) done();
    else void this.#host.run(taskId).then(done, done);
  }
}

function firstWaiting({ order, waiting }: Backlog): string | undefined {
  for (let taskId = order.shift(); taskId !== undefined; taskId = order.shift())
    if (waiting.delete(taskId)) return taskId;
  return undefined;
}
