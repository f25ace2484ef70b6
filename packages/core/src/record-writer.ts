/**
 * Decides what an event makes of a record and writes it, reading anew as long as others write in between. Every write but
 * a creation goes through here, which is where it is seen to that what is written is the owner's whose task was read.
 */
import type { Applied } from "./attempt-host.js";
import type { TaskStore } from "./store.js";
import type { TaskRecord } from "./task.js";
import { type TaskEvent, transition } from "./transitions.js";

/** More conflicts in a row are no contention but a store that is broken. */
const MOST_CONFLICTS = 1000;

export interface RecordWriterOptions {
  store: TaskStore;
  now: () => number;
  /** Told of every record that was written, before whoever wrote it goes on. */
  onWritten: (task: TaskRecord) => void;
}

export class RecordWriter {
  readonly #options: RecordWriterOptions;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** Rejects when the store is out. */
  async apply(task: TaskRecord, event: TaskEvent): Promise<Applied> {
    const { store, now } = this.#options;
    let current = task;
    for (let tries = 0; tries < MOST_CONFLICTS; tries += 1) {
      const decided = transition(current, event, now());
      if ("refused" in decided) return { task: current, refused: decided.refused };
      const written = await store.update(current.taskId, current.version, decided.changes);
      if (written === null) return null;
      if (written !== "conflict") return this.#written(written, event);
      const read = await store.get(current.taskId);
      // Whatever a store answers, nobody's event is written to somebody else's task.
      if (read === null || read.owner !== task.owner) return null;
      current = read;
    }
    throw new Error(`The store answered ${MOST_CONFLICTS} times in a row that the record has moved on.`);
  }

  #written(task: TaskRecord, event: TaskEvent): Applied {
    this.#options.onWritten(task);
    // Nobody but the runner itself waits for a renewal.
    if (event.type !== "renew") this.#options.store.signals?.publish(task.taskId);
    return { task };
  }
}
