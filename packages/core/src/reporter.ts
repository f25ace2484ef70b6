/** What a handler says of its work as it goes: kept here, written through the flusher, and handed over with the last move. */
import type { Flushable, Flusher } from "./flusher.js";
import type { JsonValue } from "./json.js";
import { boundOutputs } from "./output.js";
import type { Progress } from "./task.js";

/** The members of a `report` event. */
export interface Report {
  progress?: Progress;
  statusMessage?: string;
  partialOutput?: JsonValue[];
}

export interface ReporterOptions {
  flusher: Flusher;
  maxOutputBytes: number;
  /** Writes a report; rejects when it could not be written. */
  write: (report: Report) => Promise<void>;
}

export class Reporter implements Flushable {
  readonly #options: ReporterOptions;
  #pending: Report | undefined;
  /** All outputs so far, and whether they have been written. */
  #outputs: readonly JsonValue[] | undefined;
  #outputsPending = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  progress(progress: Progress): void {
    this.#pending = { ...this.#pending, progress };
    if (progress.message !== undefined) this.#pending.statusMessage = progress.message;
    this.#options.flusher.mark(this);
  }

  /** The task has a newer message than the one that still waits to be written. */
  messageIsOver(): void {
    if (this.#pending !== undefined) delete this.#pending.statusMessage;
  }

  outputs(outputsSoFar: readonly JsonValue[]): void {
    // A shallow copy: the tool goes on filling its list, and may empty it.
    this.#outputs = outputsSoFar.slice();
    this.#outputsPending = true;
    this.#options.flusher.mark(this);
  }

  async flush(): Promise<number> {
    const report: Report = this.#pending ?? {};
    const outputs = this.#outputsPending ? this.#bound() : undefined;
    if (outputs !== undefined) report.partialOutput = outputs.outputs;
    this.#pending = undefined;
    this.#outputsPending = false;
    try {
      if (Object.keys(report).length > 0) await this.#options.write(report);
    } catch (error) {
      const { partialOutput, ...rest } = report;
      this.#pending = { ...rest, ...(this.#pending as Report | undefined) };
      this.#outputsPending ||= partialOutput !== undefined;
      throw error;
    }
    return outputs?.produced ?? 0;
  }

  /** What goes with the last move: the newest progress and, unless a complete result replaces them, all outputs within bounds. */
  last({ outputs }: { outputs: boolean }): Report {
    const report: Report = {};
    if (this.#pending?.progress !== undefined) report.progress = this.#pending.progress;
    const partialOutput = outputs ? this.#bound()?.outputs : undefined;
    if (partialOutput !== undefined) report.partialOutput = partialOutput;
    return report;
  }

  /** Lets go of everything; nothing more is written. */
  close(): void {
    this.#options.flusher.drop(this);
    this.#pending = undefined;
    this.#outputs = undefined;
    this.#outputsPending = false;
  }

  #bound(): { outputs: JsonValue[]; produced: number } | undefined {
    if (this.#outputs === undefined) return undefined;
    const { outputs, bytes, dropped } = boundOutputs(this.#outputs, this.#options.maxOutputBytes);
    return { outputs, produced: bytes + dropped };
  }
}
