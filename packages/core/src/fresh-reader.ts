/** Reads records anew, once at a time for each however many want to know. */
import { describeError, type Logger } from "./logger.js";
import type { TaskRecord } from "./task.js";

export interface FreshReaderOptions {
  read: (taskId: string) => Promise<TaskRecord | null>;
  found: (taskId: string, task: TaskRecord | null) => void;
  logger: Logger;
}

interface Reading {
  readonly current: Promise<void>;
  /** Of whoever asked meanwhile: the current read may have missed what that was for. */
  next?: Promise<void>;
}

export class FreshReader {
  readonly #options: FreshReaderOptions;
  readonly #readings = new Map<string, Reading>();

  constructor(options: FreshReaderOptions) {
    this.#options = options;
  }

  /** Resolves when something at least as new as now has been found, or could not be read. Never rejects. */
  look(taskId: string): Promise<void> {
    const reading = this.#readings.get(taskId);
    if (reading === undefined) return this.#begin(taskId);
    reading.next ??= reading.current.then(() => this.#begin(taskId));
    return reading.next;
  }

  #begin(taskId: string): Promise<void> {
    const reading: Reading = { current: this.#read(taskId) };
    this.#readings.set(taskId, reading);
    void reading.current.then(() => {
      if (reading.next === undefined) this.#readings.delete(taskId);
    });
    return reading.current;
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
