import { randomBytes } from "node:crypto";
import type { TaskChanges, TaskFields, WorkingTask } from "@claimcheck/core";

export function sampleTask(overrides: Partial<TaskFields> = {}): WorkingTask {
  const now = Date.now();
  return {
    taskId: `tsk_${randomBytes(16).toString("base64url")}`,
    owner: "owner",
    toolName: "build_index",
    arguments: { repo: "example" },
    status: "working",
    createdAt: now,
    lastUpdatedAt: now,
    ttlMs: 60_000,
    recovery: "fail",
    questions: [],
    attempt: { state: "queued", epoch: 0, tries: 0 },
    version: 1,
    ...overrides,
  };
}

export function completion(): TaskChanges {
  const now = Date.now();
  return {
    status: "completed",
    outcome: { kind: "result", result: { content: [] } },
    finishedAt: now,
    lastUpdatedAt: now,
  };
}
