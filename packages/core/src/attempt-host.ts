/** What an attempt needs of the runtime that it is part of, and what it is called with. */
import type { RunningAttempt } from "./attempt.js";
import type { LogMessage } from "./context.js";
import type { Deadlines } from "./deadlines.js";
import type { Flusher } from "./flusher.js";
import type { JsonObject } from "./json.js";
import type { Logger } from "./logger.js";
import type { Settings } from "./runtime-options.js";
import type { Progress, TaskRecord } from "./task.js";
import type { AttemptEvent, Refusal } from "./transitions.js";

/** What an event came to: the record as it now is, and why the event was refused if it was. `null`: no such record. */
export type Applied = { task: TaskRecord; refused?: Refusal } | null;

/** Whether the record is now as the event has it. */
export function isTaken(applied: Applied): boolean {
  return applied !== null && applied.refused === undefined;
}

/** What an attempt writes of its task. */
export type Move = AttemptEvent | { type: "request_cancel" };

/** What an attempt needs of the runtime. */
export interface AttemptHost {
  readonly logger: Logger;
  /** For what a store that is out makes many tasks say. */
  readonly outageLogger: Logger;
  readonly deadlines: Deadlines;
  /** By {@link AttemptHost.elapsed}. */
  readonly runDeadlines: Deadlines;
  readonly flusher: Flusher;
  readonly settings: Settings;
  now(): number;
  /** Milliseconds that grow by what passes while this process can run. */
  elapsed(): number;
  /** The deadline of a lease taken or renewed now. */
  leaseUntilAt(): number;
  /** Whether somebody will be there to try again. */
  mayRetry(): boolean;
  /** Decides and writes `move`, reading anew as long as others write in between. */
  apply(task: TaskRecord, move: Move): Promise<Applied>;
  tellProgress(taskId: string, progress: Progress): void;
  /** Answers whether somebody hears it. */
  tellLog(taskId: string, message: LogMessage): boolean;
  pause(delayMs: number): Promise<void>;
  /** The handler waits for a person, or goes on. */
  setWaiting(taskId: string, isWaiting: boolean): void;
  /** The attempt is over and its handler does not run: nothing of it is needed any more. */
  left(attempt: RunningAttempt): void;
}

/** What the handler is called with beside its context's helpers. Handed over in this process, or read from the record. */
export interface Call {
  arguments: JsonObject;
  request?: JsonObject;
  input?: unknown;
}
