/**
 * Ending in order. What was started last ends first, all of it within one grace period; what hangs is named and left.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@claimcheck/core";
import { describeError } from "@claimcheck/core";
import { signalExitCode } from "./exit-codes.js";

interface Step {
  name: string;
  end: () => Promise<void>;
}

export interface ShutdownOptions {
  /** For all steps together. */
  graceMs: number;
  logger: Logger;
}

export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #steps: Step[] = [];
  #request: (reason: string) => void = () => {};
  #isRequested = false;
  /** Resolves with the reason once somebody has asked for the end. */
  readonly requested: Promise<string> = new Promise((resolve) => {
    this.#request = resolve;
  });

  constructor(options: ShutdownOptions) {
    this.#options = options;
  }

  /** What has just been started, and how it ends. */
  add(name: string, end: () => Promise<void>): void {
    this.#steps.push({ name, end });
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  request(reason: string): void {
    this.#isRequested = true;
    this.#request(reason);
  }

  /**
   * Ends everything, in turn. A step that fails is logged and the next one follows.
   * @returns whether all of it ended within the grace period
   */
  async end(): Promise<boolean> {
    const abort = new AbortController();
    const deadline = delay(this.#options.graceMs, "late" as const, { signal: abort.signal }).catch(
      () => "late" as const,
    );
    let clean = true;
    try {
      for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
        const outcome = await Promise.race([this.#endOne(step), deadline]);
        if (outcome === "late") this.#options.logger.error({ step: step.name }, "did not end within the grace period");
        clean &&= outcome === "ended";
      }
    } finally {
      abort.abort();
    }
    return clean;
  }

  async #endOne(step: Step): Promise<"ended" | "failed"> {
    try {
      await step.end();
      return "ended";
    } catch (error) {
      this.#options.logger.error({ step: step.name, error: describeError(error) }, "could not be ended");
      return "failed";
    }
  }
}

const END_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Has a signal ask for the end, and a second one end the process at once: whoever sends it has waited enough.
 * @returns a function that gives the signals back
 */
export function requestOnSignals(shutdown: Shutdown): () => void {
  let asked = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) process.exit(signalExitCode(signal));
    asked = true;
    shutdown.request(signal);
  };
  for (const signal of END_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of END_SIGNALS) process.off(signal, onSignal);
  };
}
