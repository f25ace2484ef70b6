/** Identifiers that nobody can guess: a task id is all that an unauthenticated caller needs. */
import { randomBytes } from "node:crypto";

/** Asked for in bulk: the call costs far more than the bytes. None is used twice. */
let pool: Buffer = Buffer.alloc(0);
let used = 0;

function random(bytes: number): string {
  if (used + bytes > pool.length) {
    pool = randomBytes(4096);
    used = 0;
  }
  used += bytes;
  return pool.toString("base64url", used - bytes, used);
}

/** 128 random bits, `tsk_` in front. */
export function newTaskId(): string {
  return `tsk_${random(16)}`;
}

/** Names a process that runs tasks. */
export function newRunnerId(): string {
  return `run_${random(9)}`;
}

/** The key of a task's next question: never used again in the task's life, also not after a restart. */
export function questionKey(asked: number): string {
  return `q${asked + 1}_${random(9)}`;
}
