/** Reads records anew, once at a time for each however many want to know. */
import { describeError, type Logger } from "./logger.js";
import type { TaskRecord } from "./task.js";

export interface FreshReaderOptions {
  read: (taskId: string) => Promise<TaskRecord | null>;
  found: (taskId: string, task: TaskRecord | null) => void;
  logger: Logger;
}

export class FreshReader {
  readonly #options: FreshReaderOptions;
  /** What is being read, and whether it was asked for again meanwhile: the read may have missed what that was for. */
  readonly #reading = new Map<string, { again: boolean }>();

  constructor(options: FreshReaderOptions) {
    this.#options = options;
  }

  /** Resolves when something at least as new as now has been found, or could not be read. */
  async look(taskId: string): Promise<void> {
    const reading = this.#reading.get(taskId);
    if (reading !== undefined) {
      reading.again = true;
      return;
    }
    const state = { again: false };
    this.#reading.set(taskId, state);
    try {
      do {
        state.again = false;
        await this.#read(taskId);
      } while (state.again);
    } finally {
      this.#reading.delete(taskId);
    }
  }

  async #read(taskId: string): Promise<void> {
    const { read, found, logger } = this.#options;
    try {
      found(taskId, await read(taskId));
    } catch (error) {
      logger.warn({ taskId, error: describeError(error) }, "a task could not be read anew; the next poll will tell");
    }
  }
}
