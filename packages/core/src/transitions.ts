/**
 * The one place that decides what may become of a task. Pure: nothing here reads a clock, a store or a runner.
 * A move is either a set of changes, written as one compare-and-set, or a refusal that changes nothing.
 */
import type { JsonObject, JsonValue } from "./json.js";
import type { Attempt, Cancellation, Outcome, Progress, Question, TaskChanges, TaskRecord } from "./task.js";
import { isTerminal, outstandingQuestions } from "./task.js";

/** What a runner may say of its attempt. Each carries the epoch of its lease; a stale one is refused. */
export type AttemptEvent =
  /** The tool is about to run. */
  | { type: "start"; epoch: number; leaseUntilAt: number }
  | { type: "renew"; epoch: number; leaseUntilAt: number }
  /** Handed back, unharmed, to be leased by another runner. */
  | { type: "release"; epoch: number }
  /** What the work has come to so far; members that are absent stay as they are. */
  | { type: "report"; epoch: number; progress?: Progress; partialOutput?: JsonValue[]; statusMessage?: string }
  /** `requireInput` and `setWorking`. */
  | { type: "set_status"; epoch: number; status: "working" | "input_required"; message?: string }
  | { type: "ask"; epoch: number; question: Question }
  | { type: "withdraw"; epoch: number; key: string }
  | { type: "checkpoint"; epoch: number; checkpoint: JsonValue }
  | { type: "finish"; epoch: number; outcome: Outcome; statusMessage?: string; partialOutput?: JsonValue[] };

/** What may happen to a task from outside its attempt. */
export type OutsideEvent =
  | { type: "lease"; runnerId: string; leaseUntilAt: number }
  | { type: "answer"; key: string; answer: JsonObject }
  /** Asks whoever runs the task to stop it. */
  | { type: "request_cancel" }
  /** The end of cancelling: the work has been told to stop and is no longer waited for. */
  | { type: "cancel"; how: NonNullable<Cancellation["how"]>; error?: string; partialOutput?: JsonValue[] }
  /** The lease ran out and the tool's policy is to fail. */
  | { type: "lose"; outcome: Extract<Outcome, { kind: "threw" }>; statusMessage: string };

export type TaskEvent = AttemptEvent | OutsideEvent;

/** Why a move is refused. None is a fault: the caller looks at the record and decides. */
export type Refusal =
  | "terminal"
  | "stale_epoch"
  | "not_leased"
  | "lease_live"
  | "cancel_requested"
  | "unknown_question"
  | "already_answered"
  | "key_taken"
  | "unchanged";

export type Transition = { changes: TaskChanges } | { refused: Refusal };

const refuse = (refused: Refusal): Transition => ({ refused });

/** Decides what `event` makes of `task` at `now`. */
export function transition(task: TaskRecord, event: TaskEvent, now: number): Transition {
  if (isTerminal(task)) return refuse("terminal");
  if ("epoch" in event) {
    if (task.attempt.state !== "leased") return refuse("not_leased");
    if (task.attempt.epoch !== event.epoch) return refuse("stale_epoch");
    return attemptTransition(task, task.attempt, event, now);
  }
  return outsideTransition(task, event, now);
}

type Leased = Extract<Attempt, { state: "leased" }>;

function attemptTransition(task: TaskRecord, attempt: Leased, event: AttemptEvent, now: number): Transition {
  switch (event.type) {
    case "start":
      if (task.cancellation !== undefined) return refuse("cancel_requested");
      return { changes: { attempt: { ...attempt, leaseUntilAt: event.leaseUntilAt, startedAt: now } } };
    case "renew":
      return { changes: { attempt: { ...attempt, leaseUntilAt: event.leaseUntilAt } } };
    case "release":
      return { changes: { attempt: { state: "queued", epoch: attempt.epoch, tries: attempt.tries } } };
    case "report":
      return report(event, now);
    case "set_status":
      return setStatus(task, event, now);
    case "ask":
      return ask(task, event.question, now);
    case "withdraw":
      return settleQuestion(task, event.key, { withdrawnAt: now }, now);
    case "checkpoint":
      return { changes: { checkpoint: event.checkpoint } };
    case "finish":
      return finish(task, event, now);
  }
}

function outsideTransition(task: TaskRecord, event: OutsideEvent, now: number): Transition {
  switch (event.type) {
    case "lease":
      return lease(task.attempt, event, now);
    case "answer":
      return settleQuestion(task, event.key, { answer: event.answer }, now);
    case "request_cancel":
      if (task.cancellation !== undefined) return refuse("unchanged");
      return { changes: { cancellation: { requestedAt: now } } };
    case "cancel":
      return cancel(task, event, now);
    case "lose":
      if (task.attempt.state !== "leased") return refuse("not_leased");
      if (task.attempt.leaseUntilAt > now) return refuse("lease_live");
      return {
        changes: { ...ending(task, now), status: "failed", outcome: event.outcome, statusMessage: event.statusMessage },
      };
  }
}

function lease(attempt: Attempt, event: Extract<OutsideEvent, { type: "lease" }>, now: number): Transition {
  if (attempt.state === "leased" && attempt.leaseUntilAt > now) return refuse("lease_live");
  const { runnerId, leaseUntilAt } = event;
  return {
    changes: {
      attempt: { state: "leased", epoch: attempt.epoch + 1, tries: attempt.tries + 1, runnerId, leaseUntilAt },
    },
  };
}

function report(event: Extract<AttemptEvent, { type: "report" }>, now: number): Transition {
  const { type: _type, epoch: _epoch, ...news } = event;
  return { changes: { ...news, lastUpdatedAt: now } };
}

function setStatus(task: TaskRecord, event: Extract<AttemptEvent, { type: "set_status" }>, now: number): Transition {
  if (task.status === event.status && task.statusMessage === event.message) return refuse("unchanged");
  return { changes: { status: event.status, statusMessage: event.message, lastUpdatedAt: now } };
}

function ask(task: TaskRecord, question: Question, now: number): Transition {
  if (task.questions.some((asked) => asked.key === question.key)) return refuse("key_taken");
  if (task.cancellation !== undefined) return refuse("cancel_requested");
  return { changes: { status: "input_required", questions: [...task.questions, question], lastUpdatedAt: now } };
}

/** Answers or withdraws one question; the last outstanding one sets the task to work again. */
function settleQuestion(task: TaskRecord, key: string, how: Partial<Question>, now: number): Transition {
  const question = task.questions.find((asked) => asked.key === key);
  if (question === undefined) return refuse("unknown_question");
  if (question.answer !== undefined || question.withdrawnAt !== undefined) return refuse("already_answered");
  const questions = task.questions.map((asked) => (asked === question ? { ...asked, ...how } : asked));
  if (outstandingQuestions({ questions }).length > 0) return { changes: { questions, lastUpdatedAt: now } };
  return { changes: { questions, status: "working", statusMessage: undefined, lastUpdatedAt: now } };
}

function finish(task: TaskRecord, event: Extract<AttemptEvent, { type: "finish" }>, now: number): Transition {
  const { outcome } = event;
  const status = outcome.kind === "result" || outcome.kind === "error_result" ? "completed" : "failed";
  const changes: TaskChanges = { ...ending(task, now), status, outcome, statusMessage: event.statusMessage };
  // A complete result replaces the partial one; a failure keeps what was produced, which is where its cause is read.
  if (status === "completed") changes.partialOutput = undefined;
  else if (event.partialOutput !== undefined) changes.partialOutput = event.partialOutput;
  return { changes };
}

function cancel(task: TaskRecord, event: Extract<OutsideEvent, { type: "cancel" }>, now: number): Transition {
  const changes: TaskChanges = { ...ending(task, now), status: "cancelled", statusMessage: cancelMessage(event) };
  changes.cancellation = { requestedAt: task.cancellation?.requestedAt ?? now, how: event.how };
  if (event.error !== undefined) changes.cancellation.error = event.error;
  if (event.partialOutput !== undefined) changes.partialOutput = event.partialOutput;
  return { changes };
}

function cancelMessage({ how }: { how: NonNullable<Cancellation["how"]> }): string {
  if (how === "not_started") return "Cancelled before it started.";
  return how === "stopped"
    ? "Cancelled; the work has stopped."
    : "Cancelled; the work did not stop in time and may still be running.";
}

/** What every last move has in common: the instants, the attempt's end, questions withdrawn. */
function ending(task: TaskRecord, now: number): TaskChanges {
  const { epoch, tries } = task.attempt;
  const changes: TaskChanges = { finishedAt: now, lastUpdatedAt: now, attempt: { state: "ended", epoch, tries } };
  if (task.attempt.state === "leased")
    changes.attempt = { state: "ended", epoch, tries, runnerId: task.attempt.runnerId };
  if (outstandingQuestions(task).length > 0) {
    changes.questions = task.questions.map((asked) =>
      (asked.answer ?? asked.withdrawnAt) === undefined ? { ...asked, withdrawnAt: now } : asked,
    );
  }
  return changes;
}
