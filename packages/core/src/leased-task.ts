/**
 * A task as the attempt that has leased it holds it: its record as last seen, the one way in which its moves are written, and
 * the time that is left of its lease. That is counted in this process: no setting of a clock makes a lease last.
 */
import type { Applied, AttemptHost, Move } from "./attempt-host.js";
import type { Deadline } from "./deadlines.js";
import { describeError } from "./logger.js";
import { isTerminal, type TaskRecord } from "./task.js";

/**
 * What a tool says without end must not keep its lease from being renewed: whoever writes with what it has just written is
 * always ahead of whoever has to read first. What is told waits for a renewal that is on its way.
 */
const TOLD: ReadonlySet<Move["type"]> = new Set<Move["type"]>([
  "report",
  "checkpoint",
  "set_status",
  "ask",
  "withdraw",
]);

const nothing = (): void => {};

export abstract class LeasedTask {
  readonly taskId: string;
  readonly epoch: number;
  protected readonly host: AttemptHost;
  #record: TaskRecord | undefined;
  /** When the lease as it stands was taken. */
  #takenAt: number;
  /** The renewal that is on its way; never rejects. */
  #renewal: Promise<void> | undefined;
  /** Set while a renewal is on its way: when the lease passes, whatever becomes of that. */
  #passing: Deadline | undefined;
  /** What keeps that renewal. */
  #obstacle = "";

  constructor(host: AttemptHost, record: TaskRecord) {
    this.host = host;
    this.taskId = record.taskId;
    this.epoch = record.attempt.epoch;
    this.#record = record;
    this.#takenAt = host.elapsed();
  }

  /** As last seen; `undefined` once it is over, since whatever a handler left behind may hold its attempt. */
  get record(): TaskRecord | undefined {
    return this.#record;
  }

  /** The record is terminal, or the lease is lost: nothing more can be written. */
  get isOver(): boolean {
    return this.#record === undefined;
  }

  /** What `move` came to; `null` when nothing can be written any more. Rejects when the store is out. */
  async write(move: Move): Promise<Applied> {
    while (this.#renewal !== undefined && TOLD.has(move.type)) await this.#renewal;
    if (this.#record === undefined) return null;
    const applied = await this.host.apply(this.#record, move);
    if (applied === null) this.letGo("ended");
    else this.see(applied.task);
    return applied;
  }

  /** Looks at the record as it now is: an end, a lost lease, a cancellation or an answer that came from elsewhere. */
  see(record: TaskRecord): void {
    if (this.#record === undefined || record.version < this.#record.version) return;
    this.#record = record;
    const isMine = record.attempt.epoch === this.epoch && record.attempt.state === "leased";
    if (isTerminal(record) || !isMine) this.letGo(isTerminal(record) ? "ended" : "lost");
    else this.seen(record);
  }

  /** Writes nothing more; whoever finds the lease run out decides. */
  abandon(): void {
    this.letGo("lost");
  }

  /** Nothing more can be written. Where the task is `lost`, it may go on elsewhere. */
  protected letGo(how: "ended" | "lost"): void {
    if (this.#record === undefined) return;
    this.#record = undefined;
    this.#endPassing();
    this.over(how);
  }

  /** Puts off the lease's deadline. Never rejects: what could not be renewed is tried again, until the lease passes. */
  async renew(): Promise<void> {
    if (this.isOver) return;
    const renewedAt = this.host.elapsed();
    this.#beginPassing();
    try {
      await this.#writeRenewal();
      this.#takenAt = renewedAt;
      this.#endPassing();
    } catch (error) {
      this.#obstacle = describeError(error);
    }
  }

  #beginPassing(): void {
    if (this.#passing !== undefined) return;
    const { runDeadlines, settings } = this.host;
    this.#obstacle = "the store has not answered";
    this.#passing = runDeadlines.at(this.#takenAt + settings.leaseMs, () => this.leasePassed(this.#obstacle));
  }

  #endPassing(): void {
    this.#passing?.cancel();
    this.#passing = undefined;
  }

  async #writeRenewal(): Promise<void> {
    const { epoch, ranMs } = this;
    const move: Move = { type: "renew", epoch, leaseUntilAt: this.host.leaseUntilAt() };
    if (ranMs !== undefined) move.ranMs = ranMs;
    const written = this.write(move);
    const renewal = written.then(nothing, nothing);
    this.#renewal = renewal;
    try {
      await written;
    } finally {
      if (this.#renewal === renewal) this.#renewal = undefined;
    }
  }

  /** How long the tool has run, in all attempts; `undefined` before it is called. */
  protected abstract get ranMs(): number | undefined;

  /** The record is as it says now, and still leased to this attempt. */
  protected abstract seen(record: TaskRecord): void;

  /** Called once, when nothing more can be written. */
  protected abstract over(how: "ended" | "lost"): void;

  /** The lease has passed while a renewal was on its way. From now on another process may run the task. */
  protected abstract leasePassed(obstacle: string): void;
}
