/** Identifiers that nobody can guess: a task id is all that an unauthenticated caller needs. */
import { randomBytes } from "node:crypto";

/** 128 random bits, `tsk_` in front. */
export function newTaskId(): string {
  return `tsk_${randomBytes(16).toString("base64url")}`;
}

/** Names a process that runs tasks. */
export function newRunnerId(): string {
  return `run_${randomBytes(9).toString("base64url")}`;
}

/** The key of a task's next question: never used again in the task's life, also not after a restart. */
export function questionKey(asked: number): string {
  return `q${asked + 1}_${randomBytes(9).toString("base64url")}`;
}
