/** An append-only file that every process of a world writes: one line, one system call, so that a kill loses none. */
import { appendFileSync, readFileSync } from "node:fs";
import type { JournalLine } from "./history.js";

type Event = JournalLine extends infer Line
  ? Line extends JournalLine
    ? Omit<Line, "at" | "node" | "pid">
    : never
  : never;

export class Journal {
  readonly #path: string;
  readonly #node: number;

  constructor(path: string, node: number) {
    this.#path = path;
    this.#node = node;
  }

  write(event: Event): void {
    const line = { at: Date.now(), node: this.#node, pid: process.pid, ...event };
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}

export function readJournal(path: string): JournalLine[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as JournalLine);
}
