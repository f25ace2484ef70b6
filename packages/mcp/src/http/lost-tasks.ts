/** What a server without authentication has to say of its tasks, before anybody misses one. */
import type { Ownership } from "../owner.js";
import type { Tasks } from "../tasks.js";

const REMEDY = 'one person\'s server is createTasks({ ownership: "single-user" }), any other one needs an auth';

/** @param sessions whether clients of 2025 get sessions */
export function warnOfLostTasks({ ownership, logger }: Tasks, sessions: boolean): void {
  const lost = lostTasks(ownership, sessions);
  if (lost !== undefined) logger.warn({ auth: "none", ownership, sessions }, `${lost}; ${REMEDY}`);
}

function lostTasks(ownership: Ownership, sessions: boolean): string | undefined {
  if (ownership === "single-user") return undefined;
  if (ownership === "principal" || !sessions) return "nobody gets a task here, since nobody says who they are";
  return "a task belongs to its session: clients of 2025 collect in that alone, and those of 2026-07-28, which have none, get no tasks";
}
