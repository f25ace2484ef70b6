/**
 * Putting a run's outputs into its cell: now and then while it runs, if that is wanted, and at its end in any case.
 *
 * The cell is found again by its id at every write, wherever it has moved. That a write fails costs nothing but that write:
 * the outputs are the run's, and its result says whether the notebook has them.
 */
import { type Clock, describeError, type Logger, type Timer, textOfThrown } from "@claimcheck/core";
import { Coalescer } from "../execution/index.js";
import type { CellKey, NotebookFiles, RunRecord, SaveOutcome } from "../notebook/index.js";

export interface CellSaverOptions {
  files: Pick<NotebookFiles, "saveRun">;
  path: string;
  key: CellKey;
  /** Whether to write while the run goes on. */
  live: boolean;
  clock: Clock;
  logger: Logger;
}

/** Each write reads and writes the whole notebook. */
const WRITE_INTERVAL_MS = 1_000;
/** A run that is over by then is written once. */
const FIRST_WRITE_MS = 500;

/** @see the file comment */
export class CellSaver {
  readonly #options: CellSaverOptions;
  readonly #coalescer: Coalescer;
  #timer: Timer | undefined;
  #record: RunRecord = { outputs: [], executionCount: null };
  #isDue = false;

  constructor(options: CellSaverOptions) {
    this.#options = options;
    this.#coalescer = new Coalescer({
      work: async () => void (await this.#save()),
      intervalMs: WRITE_INTERVAL_MS,
      clock: options.clock,
      onError: (error) => this.#warn(error),
    });
  }

  /** The run has begun: what a former run has left in the cell is not its output. */
  begin(): void {
    if (!this.#options.live) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#isDue = true;
      this.#coalescer.mark();
    }, FIRST_WRITE_MS);
  }

  /** What the run has come to so far. */
  update(record: RunRecord): void {
    this.#record = record;
    if (this.#isDue) this.#coalescer.mark();
  }

  /** Writes nothing more. */
  stop(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#coalescer.reset();
    this.#isDue = false;
  }

  /** Writes the run's last state and says where it went. Never rejects. */
  async finish(record: RunRecord): Promise<SaveResult> {
    this.stop();
    this.#record = record;
    try {
      return await this.#save();
    } catch (error) {
      this.#warn(error);
      return {
        saved: false,
        reason: "failed",
        message: `The outputs could not be saved to ${this.#options.path}: ${textOfThrown(error)}`,
      };
    }
  }

  /** Output that came after the end: of a thread that the cell left behind, or of another cell that updates its display. */
  async amend(record: RunRecord): Promise<void> {
    this.#record = record;
    await this.#save();
  }

  #save(): Promise<SaveOutcome> {
    const { files, path, key } = this.#options;
    return files.saveRun(path, key, this.#record);
  }

  #warn(error: unknown): void {
    const { logger, path } = this.#options;
    logger.warn({ path, error: describeError(error) }, "a cell's outputs could not be saved");
  }
}

/** Where a run's outputs went. */
export type SaveResult = SaveOutcome | { saved: false; reason: "failed"; message: string };
