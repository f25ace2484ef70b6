/** The limit on how long a run may run. It belongs to the run, and holds whether or not anybody waits for it. */
import type { Clock, Timer } from "@claimcheck/core";
import type { CancelReport } from "../kernel/index.js";

/** What is limited. */
interface LimitedRun {
  readonly begun: Promise<void>;
  /** Epoch ms; null while it is not known, which it is of a run that began before it was followed here. */
  readonly startedAt: number | null;
  readonly ended: Promise<unknown>;
  cancel(): Promise<CancelReport>;
}

/** Interrupts a run that has run for too long, counted from when the kernel began with it. */
export class RunLimit {
  /** Undefined: without limit. */
  readonly ms: number | undefined;
  /** Resolves when the run was interrupted and goes on all the same. */
  readonly ignored: Promise<void>;
  readonly #run: LimitedRun;
  readonly #clock: Clock;
  #reportIgnored: () => void = () => {};
  #timer: Timer | undefined;
  #isOver = false;
  #hasPassed = false;

  constructor(run: LimitedRun, ms: number | undefined, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
    this.ms = ms;
    this.ignored = new Promise((resolve) => {
      this.#reportIgnored = resolve;
    });
    if (ms === undefined) return;
    void run.begun.then(() => this.#arm(ms));
    void run.ended.then(() => this.#end());
  }

  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  #arm(ms: number): void {
    if (this.#isOver) return;
    const now = this.#clock.now();
    const ranMs = now - (this.#run.startedAt ?? now);
    this.#timer = this.#clock.setTimer(() => void this.#pass(), Math.max(0, ms - ranMs));
  }

  #end(): void {
    this.#isOver = true;
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
  }

  async #pass(): Promise<void> {
    this.#hasPassed = true;
    const { outcome } = await this.#run.cancel();
    if (outcome === "interrupt_ignored") this.#reportIgnored();
  }
}
