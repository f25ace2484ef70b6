/**
 * Stopping one request that a kernel runs, and telling what came of it.
 *
 * An interrupt goes to whatever the kernel runs, so it is sent only while that is known to be ours. It says nothing about
 * success: only the idle status of the request does. Some code needs a nudge to notice it, some needs a second one, and
 * some ignores it for ever; nothing is restarted here on anybody's behalf.
 */
import { type Clock, systemClock } from "@claimcheck/core";
import type { KernelConnection } from "./connection.js";
import type { Execution } from "./execution.js";

/** The rungs, counted from the first interrupt. */
export interface InterruptLadder {
  /** When to nudge the kernel's event loop. Default: 150 ms. */
  nudgeMs?: number;
  /** When to interrupt once more. Default: 2 s. */
  againMs?: number;
  /** When to report that it is being ignored. Default: 5 s. */
  giveUpMs?: number;
}

/** What an interrupt came to. */
export interface InterruptReport {
  /**
   * - `stopped`: the request is over
   * - `not_running`: it had not begun or was over already; nothing was sent
   * - `interrupt_ignored`: it still runs
   */
  outcome: "stopped" | "not_running" | "interrupt_ignored";
  /** Whether the kernel said that it is done; false as well if its process ended instead. */
  idleSeen: boolean;
  /** From the first interrupt until it was over, or until the report. */
  elapsedMs: number;
  /** How many interrupts the server accepted. */
  interruptsSent: number;
  /** Why the server did not accept the last one that it refused. */
  error?: unknown;
}

/** What to stop, and through whom. */
export interface InterruptOptions {
  execution: Execution;
  /** Sends one interrupt, and resolves when the server has delivered it. */
  interrupt(): Promise<void>;
  nudge: KernelConnection["nudge"];
  ladder?: InterruptLadder;
  clock?: Clock;
}

/** Interrupts a request, climbing the ladder until it is over or the last rung is reached. Never throws. */
export async function interruptExecution(options: InterruptOptions): Promise<InterruptReport> {
  if (!options.execution.isRunning) return report(options.execution, "not_running", 0, 0, undefined);
  return await new Climb(options).run();
}

class Climb {
  readonly #options: InterruptOptions;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #sent = 0;
  #error: unknown;
  #inFlight: Promise<void> = Promise.resolve();

  constructor(options: InterruptOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#startedAt = this.#clock.now();
  }

  async run(): Promise<InterruptReport> {
    const { nudgeMs = 150, againMs = 2_000, giveUpMs = 5_000 } = this.#options.ladder ?? {};
    this.#interrupt();
    const rungs: [number, () => void][] = [
      [nudgeMs, () => this.#nudge()],
      [againMs, () => this.#interrupt()],
      [againMs + nudgeMs, () => this.#nudge()],
      [giveUpMs, () => {}],
    ];
    const timers = rungs.map(([atMs, act]) => this.#clock.setTimer(() => this.#ifRunning(act), atMs));
    try {
      await Promise.race([this.#options.execution.idle, this.#reached(giveUpMs, timers)]);
    } finally {
      for (const timer of timers) this.#clock.clearTimer(timer);
    }
    // An interrupt still on its way would hit whatever the kernel runs next.
    await this.#inFlight;
    // One that came between the code's end and its reply has taken the reply with it: have that proved.
    if (this.#options.execution.idleSeen && !this.#options.execution.isDone) this.#nudge();
    return this.#report();
  }

  #reached(atMs: number, timers: object[]): Promise<void> {
    return new Promise((resolve) => timers.push(this.#clock.setTimer(resolve, atMs)));
  }

  #ifRunning(act: () => void): void {
    if (this.#options.execution.isRunning) act();
  }

  #nudge(): void {
    this.#options.nudge();
  }

  #interrupt(): void {
    this.#inFlight = Promise.all([this.#inFlight, this.#send()]).then(() => {});
  }

  async #send(): Promise<void> {
    this.#options.execution.noteInterrupt();
    try {
      await this.#options.interrupt();
      this.#sent++;
    } catch (error) {
      this.#error = error;
    }
  }

  #report(): InterruptReport {
    const { execution } = this.#options;
    const outcome = execution.isRunning ? "interrupt_ignored" : "stopped";
    return report(execution, outcome, this.#clock.now() - this.#startedAt, this.#sent, this.#error);
  }
}

function report(
  execution: Execution,
  outcome: InterruptReport["outcome"],
  elapsedMs: number,
  interruptsSent: number,
  error: unknown,
): InterruptReport {
  const facts = { outcome, idleSeen: execution.idleSeen, elapsedMs, interruptsSent };
  return error === undefined ? facts : { ...facts, error };
}
