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

type Said = keyof Report;

export class Reporter implements Flushable {
  readonly #options: ReporterOptions;
  /** The newest of each that was said. Outputs are bounded when they are written. */
  #progress: Progress | undefined;
  #message: string | undefined;
  #outputs: readonly JsonValue[] | undefined;
  /** Which of that no write has taken along; what a write that failed took along is here again. */
  readonly #unwritten = new Set<Said>();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    this.#unwritten.add("progress");
    if (progress.message !== undefined) {
      this.#message = progress.message;
      this.#unwritten.add("statusMessage");
    }
    this.#options.flusher.mark(this);
  }

  /** The task has a newer message than the one that still waits to be written, or is being written. */
  messageIsOver(): void {
    this.#message = undefined;
  }

  /** @throws TypeError for what is no list: it could be written neither now nor with the task's end, which would never come */
  outputs(outputsSoFar: readonly JsonValue[]): void {
    if (!Array.isArray(outputsSoFar)) {
      const right = 'a list of all outputs so far, such as [{ type: "text", text: "…" }]';
      throw new TypeError(`recordOutput takes ${right}; got ${outputsSoFar === null ? "null" : typeof outputsSoFar}.`);
    }
    // A shallow copy: the tool goes on filling its list, and may empty it.
    this.#outputs = outputsSoFar.slice();
    this.#unwritten.add("partialOutput");
    this.#options.flusher.mark(this);
  }

  async flush(): Promise<number> {
    const said = [...this.#unwritten];
    this.#unwritten.clear();
    const outputs = said.includes("partialOutput") ? this.#bound() : undefined;
    const report: Report = {};
    if (said.includes("progress") && this.#progress !== undefined) report.progress = this.#progress;
    if (said.includes("statusMessage") && this.#message !== undefined) report.statusMessage = this.#message;
    if (outputs !== undefined) report.partialOutput = outputs.outputs;
    try {
      if (Object.keys(report).length > 0) await this.#options.write(report);
    } catch (error) {
      for (const member of said) this.#unwritten.add(member);
      throw error;
    }
    return outputs?.produced ?? 0;
  }

  /**
   * What goes with the last move: the newest progress, also where a write that may yet fail has taken it along, and, unless
   * a complete result replaces them, all outputs within bounds.
   */
  last({ outputs }: { outputs: boolean }): Report {
    const report: Report = {};
    if (this.#progress !== undefined) report.progress = this.#progress;
    const partialOutput = outputs ? this.#bound()?.outputs : undefined;
    if (partialOutput !== undefined) report.partialOutput = partialOutput;
    return report;
  }

  /** Lets go of everything; nothing more is written. */
  close(): void {
    this.#options.flusher.drop(this);
    this.#unwritten.clear();
    this.#progress = undefined;
    this.#message = undefined;
    this.#outputs = undefined;
  }

  #bound(): { outputs: JsonValue[]; produced: number } | undefined {
    if (this.#outputs === undefined) return undefined;
    const { outputs, bytes, dropped } = boundOutputs(this.#outputs, this.#options.maxOutputBytes);
    return { outputs, produced: bytes + dropped };
  }
}
