import type { Attempt, JsonObject, LiveTask, Question, TerminalTask } from "@claimcheck/core";

export const NOW: number = Date.UTC(2026, 0, 1);

export function leased(over: Partial<Extract<Attempt, { state: "leased" }>> = {}): Attempt {
  return {
    state: "leased",
    epoch: 1,
    tries: 1,
    runnerId: "run_a",
    leaseUntilAt: NOW + 15_000,
    startedAt: NOW,
    ...over,
  };
}

/** A task that runs, under epoch 1. */
export function liveTask(over: Partial<LiveTask> = {}): LiveTask {
  return {
    taskId: "tsk_1",
    owner: "alice",
    toolName: "work",
    arguments: {},
    status: "working",
    createdAt: NOW,
    lastUpdatedAt: NOW,
    ttlMs: 60_000,
    recovery: "fail",
    questions: [],
    attempt: leased(),
    version: 1,
    ...over,
  };
}

export function terminalTask(status: TerminalTask["status"]): TerminalTask {
  const attempt: Attempt = { state: "ended", epoch: 1, tries: 1, runnerId: "run_a" };
  const ended = { ...liveTask(), attempt, finishedAt: NOW, version: 2 };
  if (status === "completed") return { ...ended, status, outcome: { kind: "result", result: text("done") } };
  if (status === "failed") return { ...ended, status, outcome: { kind: "threw", message: "boom" } };
  return { ...ended, status };
}

export function question(key: string, over: Partial<Question> = {}): Question {
  return { key, method: "elicitation/create", params: { message: key }, askedAt: NOW, ...over };
}

export function text(said: string): JsonObject {
  return { content: [{ type: "text", text: said }] };
}
