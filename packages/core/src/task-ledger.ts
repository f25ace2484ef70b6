/**
 * Who has how many tasks here, and whether there may be one more. A task is entered before it is created, so that of any
 * number of calls at one moment no more come in than may. Nothing is scanned, and nothing has to be done when a task goes.
 */
import type { TaskError } from "./errors.js";
import { Expiries } from "./expiries.js";
import { type Limits, limitReached } from "./limits.js";
import { expiresAt, type TerminalTask } from "./task.js";

export interface TaskLedgerOptions {
  limits: Limits;
  /** Whether tasks run in this process, which then says when they leave; others leave when their end is heard of. */
  runsTasks: boolean;
  now: () => number;
}

/** What one owner has. */
interface Account {
  owner: string;
  /** Tasks that have not left. */
  entered: number;
  /** Those of them whose record is not terminal. */
  open: number;
  /** Terminal records that have not expired. */
  kept: number;
}

/** A task that has not left: it is unfinished here, or its work has not stopped. */
interface Entry {
  account: Account;
  ended: boolean;
}

export class TaskLedger {
  readonly #options: TaskLedgerOptions;
  readonly #accounts = new Map<string, Account>();
  readonly #entries = new Map<string, Entry>();
  readonly #expiries: Expiries<Account> = new Expiries((account, many) => {
    account.kept -= many;
    this.#close(account);
  });

  constructor(options: TaskLedgerOptions) {
    this.#options = options;
  }

  /** Owners that anything is remembered of. */
  get owners(): number {
    this.#expiries.prune(this.#options.now());
    return this.#accounts.size;
  }

  /** Why there may be no new task of `owner`; `null` when there may. */
  refusalOf(owner: string): TaskError | null {
    const { tasks, tasksPerOwner, retainedPerOwner } = this.#options.limits;
    this.#expiries.prune(this.#options.now());
    const account = this.#accounts.get(owner);
    if (account !== undefined && account.entered >= tasksPerOwner) return limitReached("tasksPerOwner", tasksPerOwner);
    if (this.#entries.size >= tasks) return limitReached("tasks", tasks);
    if (account === undefined || account.open + account.kept < retainedPerOwner) return null;
    return limitReached("retainedPerOwner", retainedPerOwner);
  }

  enter(taskId: string, owner: string): void {
    if (this.#entries.has(taskId)) return;
    const account = this.#accountOf(owner);
    account.entered += 1;
    account.open += 1;
    this.#entries.set(taskId, { account, ended: false });
  }

  /** Whether the end of the task is still to be heard of, from elsewhere. */
  awaits(taskId: string): boolean {
    return !this.#options.runsTasks && this.#entries.has(taskId);
  }

  /** The record of a task is terminal: it stays for its ttl, wherever the work is. */
  ended(task: TerminalTask): void {
    const entry = this.#entries.get(task.taskId);
    if (entry === undefined || entry.ended) return;
    const { account } = entry;
    entry.ended = true;
    account.open -= 1;
    const at = expiresAt(task);
    if (at !== undefined && at > this.#options.now()) {
      account.kept += 1;
      this.#expiries.add(account, at);
    }
    if (!this.#options.runsTasks) this.leave(task.taskId);
  }

  /** The task does not run here any more, or never came to be. */
  leave(taskId: string): void {
    const entry = this.#entries.get(taskId);
    if (entry === undefined) return;
    const { account, ended } = entry;
    this.#entries.delete(taskId);
    account.entered -= 1;
    if (!ended) account.open -= 1;
    this.#close(account);
  }

  leaveAll(): void {
    for (const taskId of [...this.#entries.keys()]) this.leave(taskId);
  }

  /**
   * Up to `most` tasks whose end is still to be heard of, those longest not looked at: the news of an end may have been
   * lost, and a task that is counted for ever would shut its owner out.
   */
  lookedAtLeast(most: number): string[] {
    if (this.#options.runsTasks) return [];
    const oldest: [string, Entry][] = [];
    for (const entry of this.#entries) if (oldest.push(entry) >= most) break;
    for (const [taskId, entry] of oldest) {
      this.#entries.delete(taskId);
      this.#entries.set(taskId, entry);
    }
    return oldest.map(([taskId]) => taskId);
  }

  #accountOf(owner: string): Account {
    let account = this.#accounts.get(owner);
    if (account === undefined) {
      account = { owner, entered: 0, open: 0, kept: 0 };
      this.#accounts.set(owner, account);
    }
    return account;
  }

  #close(account: Account): void {
    if (account.entered === 0 && account.kept === 0) this.#accounts.delete(account.owner);
  }
}
