/** Small tasks as the runtime makes them, and what finishes them. */
import { randomBytes } from "node:crypto";
import { type TaskChanges, type TaskRecord, transition } from "@claimcheck/core";

/** Kept for long enough that nothing expires while it is measured. */
const TTL_MS = 24 * 60 * 60_000;

export function smallTask(owner = "owner", createdAt = Date.now()): TaskRecord {
  return {
    taskId: `tsk_${randomBytes(16).toString("base64url")}`,
    owner,
    toolName: "build_index",
    arguments: { repo: "https://example.org/a-repository-of-some-name", branch: "main", depth: 3 },
    status: "working",
    createdAt,
    lastUpdatedAt: createdAt,
    ttlMs: TTL_MS,
    recovery: "fail",
    questions: [],
    request: { owner, clientInfo: { name: "bench", version: "1" } },
    attempt: {
      state: "leased",
      epoch: 1,
      tries: 1,
      runnerId: "run_AAAAAAAAAAAA",
      leaseUntilAt: createdAt + 15_000,
      startedAt: createdAt,
    },
    version: 1,
  };
}

/** The changes that complete a task, with a result of two hundred bytes. */
export function completion(task: TaskRecord, now = Date.now()): TaskChanges {
  const result = { content: [{ type: "text", text: "x".repeat(140) }], structuredContent: { files: 12, ok: true } };
  const moved = transition(task, { type: "finish", epoch: 1, outcome: { kind: "result", result } }, now);
  if (!("changes" in moved)) throw new Error(`not finished: ${moved.refused}`);
  return moved.changes;
}

/** A task, and the changes that complete it. */
export interface TaskWrites {
  task: TaskRecord;
  completion: TaskChanges;
}

export function writesOf(task: TaskRecord): TaskWrites {
  return { task, completion: completion(task) };
}
