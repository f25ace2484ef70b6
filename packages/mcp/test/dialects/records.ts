import type { JsonObject, Outcome, TaskFields, TaskRecord } from "@claimcheck/core";

export const CREATED_AT = Date.parse("2026-08-28T10:00:00.000Z");
export const TTL_MS = 900_000;
export const FINISHED_AT = CREATED_AT + 60_000;

const fields: TaskFields = {
  taskId: "tsk_1",
  owner: "owner",
  toolName: "dig",
  arguments: {},
  createdAt: CREATED_AT,
  lastUpdatedAt: CREATED_AT,
  ttlMs: TTL_MS,
  recovery: "fail",
  questions: [],
  attempt: { state: "queued", epoch: 0, tries: 0 },
  version: 1,
};

export function working(extra: Partial<TaskFields> = {}): TaskRecord {
  return { ...fields, ...extra, status: "working" };
}

export function inputRequired(extra: Partial<TaskFields> = {}): TaskRecord {
  const question = { key: "q1", method: "elicitation/create", params: { message: "Where to?" }, askedAt: CREATED_AT };
  const answered = { ...question, key: "q0", answer: { action: "accept" } };
  const withdrawn = { ...question, key: "q2", withdrawnAt: CREATED_AT + 1 };
  return { ...fields, questions: [answered, question, withdrawn], ...extra, status: "input_required" };
}

const finished = { finishedAt: FINISHED_AT, lastUpdatedAt: FINISHED_AT };

export function completed(result: JsonObject, extra: Partial<TaskFields> = {}): TaskRecord {
  return { ...fields, ...finished, ...extra, status: "completed", outcome: { kind: "result", result } };
}

export function toolError(result: JsonObject, extra: Partial<TaskFields> = {}): TaskRecord {
  const texts = (result.content as { text?: string }[]).flatMap(({ text }) => text ?? []);
  const said = texts.length > 0 ? { statusMessage: texts.join("\n") } : {};
  return { ...fields, ...finished, ...said, ...extra, status: "completed", outcome: { kind: "error_result", result } };
}

export function failed(
  outcome: Extract<Outcome, { kind: "threw" | "protocol_error" }>,
  extra: Partial<TaskFields> = {},
): TaskRecord {
  const statusMessage = outcome.kind === "threw" ? outcome.message : outcome.error.message;
  return { ...fields, ...finished, statusMessage, ...extra, status: "failed", outcome };
}

export function cancelled(extra: Partial<TaskFields> = {}): TaskRecord {
  return { ...fields, ...finished, statusMessage: "Cancelled; the work has stopped.", ...extra, status: "cancelled" };
}

export const THREW = { kind: "threw", message: "the kernel died" } as const;
export const LOST = { kind: "threw", message: "the process was lost", reason: "runner_lost" } as const;
export const PROTOCOL_ERROR = {
  kind: "protocol_error",
  error: { code: -32042, message: "not today", data: { day: "Sunday" } },
} as const;
export const RESULT: JsonObject = {
  content: [{ type: "text", text: "42" }],
  structuredContent: { answer: 42 },
  _meta: { "vendor/x": 1 },
};
export const ERROR_RESULT: JsonObject = {
  content: [
    { type: "text", text: "NameError: x" },
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "text", text: "at cell 3" },
  ],
  isError: true,
};
