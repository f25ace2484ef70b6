/**
 * The record: all that is kept of one deferred tool call. It is a union keyed by `status`, so that reading a
 * result without looking at the status does not compile. `status` is what a client sees; `attempt` is what the
 * engine knows. The two are never mixed.
 *
 * All instants (`…At`) are epoch milliseconds by the store's clock; all durations are milliseconds.
 */
import type { JsonObject, JsonValue } from "./json.js";

/** What a client sees of a task. The last three are terminal: the record then stops changing. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/**
 * What the call came to, stored once; each dialect projects it.
 *
 * - `result`: the tool's own result.
 * - `error_result`: a tool result that says `isError: true`.
 * - `threw`: the tool raised, or the engine ended it (run-time limit, lost runner). `message` is already masked.
 * - `protocol_error`: the tool raised a JSON-RPC error; it is raised again as it was.
 */
export type Outcome =
  | { kind: "result"; result: JsonObject }
  | { kind: "error_result"; result: JsonObject }
  | { kind: "threw"; message: string; reason?: FailureReason }
  | { kind: "protocol_error"; error: { code: number; message: string; data?: JsonValue } };

/** Why the engine ended a call that did not end by itself. Absent when the tool raised. */
export type FailureReason = "run_time_exceeded" | "runner_lost" | "unknown_tool" | "result_too_large" | "shutdown";

/** How far the work says it has come (spec: `ProgressNotification`). */
export interface Progress {
  current: number;
  total?: number;
  message?: string;
}

/**
 * A question to a person, and its answer once there is one. Keys are unique over the task's whole life, so an
 * answer that is sent twice never meets a later question.
 */
export interface Question {
  key: string;
  /** The MCP request that asks it, such as `elicitation/create`. */
  method: string;
  params: JsonObject;
  askedAt: number;
  /** When the tool stops waiting. Absent: never. */
  expiresAt?: number;
  /** Absent while the question is outstanding. */
  answer?: JsonObject;
  /** Set when the question was taken back: it timed out, or its task ended. */
  withdrawnAt?: number;
}

/**
 * What the engine knows of the run. `epoch` grows with every lease, so a runner whose lease was lost carries a
 * stale epoch and can write nothing. `tries` counts the attempts that may have run, this one included; `notBeforeAt` is
 * the end of the pause before the next one.
 */
export type Attempt =
  | ({ state: "queued"; epoch: number; tries: number; notBeforeAt?: number } & Earlier)
  | ({
      state: "leased";
      epoch: number;
      tries: number;
      runnerId: string;
      leaseUntilAt: number;
      /**
       * How long a lease is that its runner takes or renews. Whoever has seen it unrenewed for so long knows that it has passed,
       * also where the store's clock has been set back. Absent: leases of this runner end by `leaseUntilAt` alone.
       */
      leaseMs?: number;
      startedAt?: number;
    } & Earlier)
  | { state: "ended"; epoch: number; tries: number; runnerId?: string };

/**
 * What attempts so far have used up: how long the tool has run, time spent waiting for a person not counted, as far as was
 * written. Absent until that is first written; there, the tool has begun before.
 */
interface Earlier {
  ranMs?: number;
}

/** What cancelling came to. `how` is absent while the work is being told to stop. */
export interface Cancellation {
  requestedAt: number;
  /** `stopped`: seen to end. `still_running`: outlived its grace period. `not_started`: never ran. */
  how?: "stopped" | "still_running" | "not_started";
  /** What an interrupt that failed said. */
  error?: string;
}

/**
 * What a process that finds the task without its runner does with it: ends it as failed, runs it again from the start, or
 * has the tool go on from its last checkpoint. How often, and how, is the tool's to say.
 */
export type RecoveryPolicy = "fail" | "retry" | "resume";

/** What every record has, whatever its status. */
export interface TaskFields {
  taskId: string;
  /** Who may see it: an opaque key that only equality is asked of. */
  owner: string;
  toolName: string;
  arguments: JsonObject;
  /** Present together: the idempotency key, and what call it names (SHA-256 of the call's RFC 8785 canonical JSON). */
  idempotencyKey?: string;
  fingerprint?: string;
  statusMessage?: string;
  createdAt: number;
  /** When a client could last have seen a change. Lease renewals do not move it. */
  lastUpdatedAt: number;
  /** How long the finished task is kept, counted from `finishedAt`. */
  ttlMs: number;
  /** The tool's own poll interval. Absent: the dialect's default. */
  pollIntervalMs?: number;
  /** How long the tool may run, time spent waiting for a person not counted. Absent: without limit. */
  maxRunMs?: number;
  recovery: RecoveryPolicy;
  progress?: Progress;
  /** All outputs so far, bounded; absent when the work has produced nothing. */
  partialOutput?: JsonValue[];
  questions: Question[];
  attempt: Attempt;
  cancellation?: Cancellation;
  /** What a `resume` tool needs to go on after a crash. */
  checkpoint?: JsonValue;
  /** What of the creating request the tool may still read: session, client, principal, headers kept. No secrets. */
  request?: JsonObject;
  /** Grows by one with every write; compare-and-set is on it. 1 at creation. */
  version: number;
}

export type WorkingTask = TaskFields & { status: "working" };
export type InputRequiredTask = TaskFields & { status: "input_required" };
export type CompletedTask = TaskFields & {
  status: "completed";
  finishedAt: number;
  outcome: Extract<Outcome, { kind: "result" | "error_result" }>;
};
export type FailedTask = TaskFields & {
  status: "failed";
  finishedAt: number;
  outcome: Extract<Outcome, { kind: "threw" | "protocol_error" }>;
};
/** Its partial output, if any, is its result. */
export type CancelledTask = TaskFields & { status: "cancelled"; finishedAt: number };

export type LiveTask = WorkingTask | InputRequiredTask;
export type TerminalTask = CompletedTask | FailedTask | CancelledTask;
export type TaskRecord = LiveTask | TerminalTask;

/** A record without its payloads (arguments, outcome, partial output, checkpoint), as listings carry it. */
export type TaskSummary = Omit<TaskFields, "arguments" | "partialOutput" | "checkpoint"> & {
  status: TaskStatus;
  finishedAt?: number;
  /** Which kind of outcome a finished task has; absent on live and cancelled tasks. */
  outcomeKind?: Outcome["kind"];
};

/** The members that a transition may change. An explicit `undefined` removes the member. */
export interface TaskChanges {
  status?: TaskStatus;
  statusMessage?: string | undefined;
  lastUpdatedAt?: number;
  finishedAt?: number;
  progress?: Progress | undefined;
  partialOutput?: JsonValue[] | undefined;
  questions?: Question[];
  attempt?: Attempt;
  cancellation?: Cancellation;
  checkpoint?: JsonValue | undefined;
  outcome?: Outcome;
}

export function isTerminal(task: TaskRecord): task is TerminalTask;
export function isTerminal(task: { status: TaskStatus }): boolean;
export function isTerminal(task: { status: TaskStatus }): boolean {
  return task.status !== "working" && task.status !== "input_required";
}

/** When a finished task is gone; `undefined` for a live one, which never expires. */
export function expiresAt(task: { finishedAt?: number; ttlMs: number }): number | undefined {
  return task.finishedAt === undefined ? undefined : task.finishedAt + task.ttlMs;
}

/** Whether retention has taken the task at `now`. */
export function isExpired(task: { finishedAt?: number; ttlMs: number }, now: number): boolean {
  return task.finishedAt !== undefined && task.finishedAt + task.ttlMs <= now;
}

/** The record that `changes` make of `task`: its version is one higher. Every store applies changes as this does. */
export function applyChanges(task: TaskRecord, changes: TaskChanges): TaskRecord {
  const next: Record<string, unknown> = { ...task, version: task.version + 1 };
  for (const [member, value] of Object.entries(changes)) {
    if (value !== undefined) next[member] = value;
    // Only where there is something to remove: an object that was deleted from is slow ever after.
    else if (member in next) delete next[member];
  }
  return next as unknown as TaskRecord;
}

/** The record as a listing shows it. */
export function summarize(task: TaskRecord): TaskSummary {
  const { arguments: _arguments, partialOutput: _partialOutput, checkpoint: _checkpoint, ...rest } = task;
  if (!("outcome" in rest)) return rest;
  const { outcome, ...summary } = rest;
  return { ...summary, outcomeKind: outcome.kind };
}

/** The questions that still wait for an answer, oldest first. */
export function outstandingQuestions(task: { questions: Question[] }): Question[] {
  return task.questions.filter((question) => question.answer === undefined && question.withdrawnAt === undefined);
}
