/**
 * Entries in listing order, oldest first, in one array: new ones nearly always go to the end, and removed ones
 * stay as tombstones until they are the majority, so that no step costs more with more tasks.
 */
import type { ListPosition } from "./cursor.js";
import { comparePositions } from "./cursor.js";

export interface Ordered extends ListPosition {
  removed: boolean;
}

export class TaskOrder<T extends Ordered> {
  #entries: T[] = [];
  #tombstones = 0;

  add(entry: T): void {
    const last = this.#entries.at(-1);
    if (last === undefined || comparePositions(last, entry) < 0) this.#entries.push(entry);
    else this.#entries.splice(this.#firstAtOrAfter(entry), 0, entry);
  }

  /** Says that one entry of this order is now `removed`. */
  forget(): void {
    this.#tombstones += 1;
    if (this.#tombstones < 64 || this.#tombstones * 2 < this.#entries.length) return;
    this.#entries = this.#entries.filter((entry) => !entry.removed);
    this.#tombstones = 0;
  }

  /** How many entries are not removed. */
  get size(): number {
    return this.#entries.length - this.#tombstones;
  }

  /** Entries that are not removed, newest first, beginning after `position`. */
  *newestFirst(position: ListPosition | undefined): Generator<T> {
    const entries = this.#entries;
    let at = position === undefined ? entries.length : this.#firstAtOrAfter(position);
    while (at > 0) {
      at -= 1;
      const entry = entries[at] as T;
      if (!entry.removed) yield entry;
    }
  }

  #firstAtOrAfter(position: ListPosition): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePositions(this.#entries[middle] as T, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
