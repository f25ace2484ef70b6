/**
 * The one place that decides what may become of a task. Pure: nothing here reads a clock, a store or a runner.
 * A move is either a set of changes, written as one compare-and-set, or a refusal that changes nothing.
 */
import type { JsonObject, JsonValue } from "./json.js";
import { mayKeep } from "./size-limits.js";
import type {
  Attempt,
  Cancellation,
  Outcome,
  Progress,
  Question,
  TaskChanges,
  TaskRecord,
  TaskStatus,
} from "./task.js";
import { isTerminal, outstandingQuestions } from "./task.js";

/** What a runner may say of its attempt. Each carries the epoch of its lease; a stale one is refused. */
export type AttemptEvent =
  /** The tool is about to run. */
  | { type: "start"; epoch: number; leaseUntilAt: number }
  /** `ranMs`: how long the tool has run, in all attempts. */
  | { type: "renew"; epoch: number; leaseUntilAt: number; ranMs?: number }
  /** Handed back, unharmed, to be leased by another runner. */
  | ({ type: "release"; epoch: number; ranMs?: number; statusMessage?: string } & LastReport)
  /** This try failed, and another is to follow at `notBeforeAt` or later. */
  | ({ type: "retry"; epoch: number; notBeforeAt: number; ranMs: number; statusMessage: string } & LastReport)
  /** What the work has come to so far; members that are absent stay as they are. */
  | { type: "report"; epoch: number; progress?: Progress; partialOutput?: JsonValue[]; statusMessage?: string }
  /** `requireInput` and `setWorking`. */
  | { type: "set_status"; epoch: number; status: "working" | "input_required"; message?: string }
  /** `mostBytes`: what all questions of the task, with their answers, may have as JSON. */
  | { type: "ask"; epoch: number; question: Question; mostBytes?: number }
  | { type: "withdraw"; epoch: number; key: string }
  | { type: "checkpoint"; epoch: number; checkpoint: JsonValue }
  | ({ type: "finish"; epoch: number; outcome: Outcome; statusMessage?: string } & LastReport)
  /** The end of cancelling: the work has been told to stop, and is no longer waited for. */
  | ({ type: "cancel"; epoch: number; how: CancelHow; error?: string } & LastReport);

/** What the work had come to at its end; members that are absent stay as they are. */
type LastReport = { progress?: Progress; partialOutput?: JsonValue[] };

type CancelHow = NonNullable<Cancellation["how"]>;

/** What may happen to a task from outside its attempt. */
export type OutsideEvent =
  /**
   * `seen`: the attempt by which it was decided that the task may run; refused when it has moved on since.
   * `statusMessage`: what clients are told of it when the tool has begun before.
   */
  | ({
      type: "lease";
      runnerId: string;
      leaseUntilAt: number;
      leaseMs?: number;
      seen?: Attempt;
      statusMessage?: string;
    } & SeenOut)
  /** `mostBytes`: as of `ask`. */
  | { type: "answer"; key: string; answer: JsonObject; mostBytes?: number }
  /** Asks whoever runs the task to stop it. */
  | { type: "request_cancel" }
  /** Ends a task that nobody runs (`not_started`), or whose runner did not stop it in time (`still_running`). */
  | { type: "cancel"; how: "not_started" | "still_running" }
  /** Nobody runs the task, and nobody is to. Ends as cancelled if that was asked for. */
  | ({ type: "lose"; outcome: Extract<Outcome, { kind: "threw" }>; statusMessage: string } & SeenOut);

/**
 * `seenOut`: a lease that was seen to stand unrenewed for its whole length, by a clock that nobody sets: it has passed, whatever
 * the store's clock says. One that was renewed since is another.
 */
type SeenOut = { seenOut?: LeaseTerm };

/** One lease, as it was taken or last renewed. */
export type LeaseTerm = Pick<Leased, "epoch" | "leaseUntilAt">;

export type TaskEvent = AttemptEvent | OutsideEvent;

/** Why a move is refused. None is a fault: the caller looks at the record and decides. */
export type Refusal =
  | "terminal"
  | "stale_epoch"
  | "not_leased"
  | "lease_live"
  | "goes_on_outside"
  | "not_due"
  | "moved_on"
  | "cancel_requested"
  | "unknown_question"
  | "already_answered"
  | "key_taken"
  | "too_large"
  | "unchanged";

export type Transition = { changes: TaskChanges } | { refused: Refusal };

const refuse = (refused: Refusal): Transition => ({ refused });

/**
 * Decides what `event` makes of `task` at `now`. Instants that it writes never go back, whatever the clock does; only
 * leases are compared with `now` itself.
 */
export function transition(task: TaskRecord, event: TaskEvent, now: number): Transition {
  if (isTerminal(task)) return refuse("terminal");
  const at = Math.max(now, task.lastUpdatedAt);
  if ("epoch" in event) {
    if (task.attempt.state !== "leased") return refuse("not_leased");
    if (task.attempt.epoch !== event.epoch) return refuse("stale_epoch");
    return attemptTransition(task, task.attempt, event, at);
  }
  return outsideTransition(task, event, now, at);
}

type Leased = Extract<Attempt, { state: "leased" }>;

function attemptTransition(task: TaskRecord, attempt: Leased, event: AttemptEvent, at: number): Transition {
  switch (event.type) {
    case "start":
      if (task.cancellation !== undefined && !goesOnOutside(task)) return refuse("cancel_requested");
      return { changes: { attempt: { ...attempt, leaseUntilAt: event.leaseUntilAt, startedAt: at } } };
    case "renew":
      return { changes: { attempt: { ...attempt, leaseUntilAt: event.leaseUntilAt, ...ranFor(event.ranMs) } } };
    case "release":
      return release(attempt, event, at);
    case "retry":
      return retry(task, attempt, event, at);
    case "report":
      return report(event, at);
    case "set_status":
      return setStatus(task, event, at);
    case "ask":
      return ask(task, event, at);
    case "withdraw":
      return settleQuestion(task, event.key, { withdrawnAt: at }, at);
    case "checkpoint":
      return { changes: { checkpoint: event.checkpoint } };
    case "finish":
      return finish(task, event, at);
    case "cancel":
      return cancel(task, event, at);
  }
}

function outsideTransition(task: TaskRecord, event: OutsideEvent, now: number, at: number): Transition {
  const { attempt } = task;
  switch (event.type) {
    case "lease":
      return lease(task, event, now);
    case "answer":
      return settleQuestion(task, event.key, { answer: event.answer }, at, event.mostBytes);
    case "request_cancel":
      if (task.cancellation !== undefined) return refuse("unchanged");
      return { changes: { ...withdrawn(task, at), cancellation: { requestedAt: at } } };
    case "cancel":
      // Somebody took it up meanwhile, and is the one to stop it.
      if (event.how === "not_started" && isLive(attempt, now)) return refuse("lease_live");
      if (event.how === "not_started" && goesOnOutside(task)) return refuse("goes_on_outside");
      return cancel(task, event, at);
    case "lose":
      // Handed back in the meantime it is anybody's to run, if there is anybody who can.
      if (attempt.state !== "leased" && !isForNobody(task, event)) return refuse("not_leased");
      if (isLive(attempt, now, event.seenOut)) return refuse("lease_live");
      return lose(task, event, at);
  }
}

function isLive(attempt: Attempt, now: number, seenOut?: LeaseTerm): boolean {
  if (attempt.state !== "leased" || attempt.leaseUntilAt <= now) return false;
  return seenOut?.epoch !== attempt.epoch || seenOut.leaseUntilAt !== attempt.leaseUntilAt;
}

function lease(task: TaskRecord, event: Extract<OutsideEvent, { type: "lease" }>, now: number): Transition {
  const { attempt } = task;
  if (isLive(attempt, now, event.seenOut)) return refuse("lease_live");
  if (task.cancellation !== undefined && !goesOnOutside(task)) return refuse("cancel_requested");
  if (attempt.state === "queued" && attempt.notBeforeAt !== undefined && attempt.notBeforeAt > now)
    return refuse("not_due");
  // Its runner may have begun the work after all: whether it may be done again is another question.
  if (event.seen !== undefined && hasMovedOn(event.seen, attempt)) return refuse("moved_on");
  const { runnerId, leaseUntilAt, leaseMs } = event;
  // A lease under which nothing ran was no try.
  const tries = attempt.state === "leased" && attempt.startedAt === undefined ? attempt.tries : attempt.tries + 1;
  const epoch = attempt.epoch + 1;
  const changes: TaskChanges = {
    attempt: {
      state: "leased",
      epoch,
      tries,
      runnerId,
      leaseUntilAt,
      ...(leaseMs !== undefined && { leaseMs }),
      ...earlierOf(attempt),
    },
  };
  if (hasBegun(attempt)) Object.assign(changes, beginningAgain(task, event.statusMessage, now));
  // The code that had said `requireInput` is gone; open questions are still there to be answered.
  if (task.status === "input_required" && outstandingQuestions(task).length === 0) changes.status = "working";
  return { changes };
}

/** Whether anything but the lease's deadline is another. */
function hasMovedOn(seen: Attempt, attempt: Attempt): boolean {
  const startedAt = (of: Attempt): number | undefined => (of.state === "leased" ? of.startedAt : undefined);
  return seen.epoch !== attempt.epoch || seen.state !== attempt.state || startedAt(seen) !== startedAt(attempt);
}

/** What clients see change when a tool that has begun before is run again. */
function beginningAgain(task: TaskRecord, statusMessage: string | undefined, now: number): TaskChanges {
  const changes: TaskChanges = { lastUpdatedAt: Math.max(now, task.lastUpdatedAt) };
  // A person who is being asked something reads what it is.
  if (task.status === "working") changes.statusMessage = statusMessage;
  // A new start has come nowhere yet; what the last one produced stays until the new one says what it has.
  if (task.recovery === "retry" && task.progress !== undefined) changes.progress = undefined;
  return changes;
}

const ranFor = (ranMs: number | undefined): { ranMs?: number } => (ranMs === undefined ? {} : { ranMs });

function hasBegun(attempt: Attempt): boolean {
  return earlierOf(attempt).ranMs !== undefined;
}

/**
 * Whether what the tool began may go on without the process that began it. Such a task is leased even when it is to be
 * cancelled: only the tool's `resume` can stop what it finds outside.
 */
export function goesOnOutside({ recovery, attempt }: Pick<TaskRecord, "recovery" | "attempt">): boolean {
  return recovery === "resume" && hasBegun(attempt);
}

/** Whether a task that was handed back is known to be run by nobody, as others are by their lease. */
function isForNobody(task: TaskRecord, { outcome }: Extract<OutsideEvent, { type: "lose" }>): boolean {
  return outcome.reason === "unknown_tool" || (task.cancellation !== undefined && goesOnOutside(task));
}

/** Of an attempt that began and wrote nothing more, nothing is known but that. */
function earlierOf(attempt: Attempt): { ranMs?: number } {
  if (attempt.state === "ended") return {};
  if (attempt.ranMs !== undefined) return { ranMs: attempt.ranMs };
  return attempt.state === "leased" && attempt.startedAt !== undefined ? { ranMs: 0 } : {};
}

/** Handing back in good order is no failed try. */
function release(attempt: Leased, event: Extract<AttemptEvent, { type: "release" }>, at: number): Transition {
  const { epoch, tries } = attempt;
  const changes: TaskChanges = {
    attempt: { state: "queued", epoch, tries: tries - 1, ...earlierOf(attempt), ...ranFor(event.ranMs) },
    lastUpdatedAt: at,
  };
  if (event.statusMessage !== undefined) changes.statusMessage = event.statusMessage;
  takeLastReport(changes, event);
  return { changes };
}

/** The code that asked has ended, so what it still asked is asked no more. */
function retry(
  task: TaskRecord,
  { epoch, tries }: Leased,
  event: Extract<AttemptEvent, { type: "retry" }>,
  at: number,
): Transition {
  // What was to be stopped has ended.
  if (task.cancellation !== undefined) return cancel(task, { ...event, how: "stopped" }, at);
  const { notBeforeAt, ranMs, statusMessage } = event;
  const changes: TaskChanges = {
    ...withdrawn(task, at),
    status: "working",
    statusMessage,
    attempt: { state: "queued", epoch, tries, notBeforeAt, ranMs },
    lastUpdatedAt: at,
  };
  takeLastReport(changes, event);
  return { changes };
}

function lose(task: TaskRecord, event: Extract<OutsideEvent, { type: "lose" }>, at: number): Transition {
  if (task.cancellation !== undefined) {
    const { attempt } = task;
    const mayRun = goesOnOutside(task) || (attempt.state === "leased" && attempt.startedAt !== undefined);
    if (!mayRun) return cancel(task, { how: "not_started" }, at);
    return cancel(task, { how: "still_running", error: "Its runner was lost, and nobody could stop the work." }, at);
  }
  const changes = ending(task, "failed", event.statusMessage, at);
  changes.outcome = event.outcome;
  return { changes };
}

function report(event: Extract<AttemptEvent, { type: "report" }>, at: number): Transition {
  const changes: TaskChanges = { lastUpdatedAt: at };
  if (event.statusMessage !== undefined) changes.statusMessage = event.statusMessage;
  takeLastReport(changes, event);
  return { changes };
}

/** An empty list is nothing produced: kept, it would read as a measured zero. */
const produced = (outputs: JsonValue[]): JsonValue[] | undefined => (outputs.length === 0 ? undefined : outputs);

function setStatus(task: TaskRecord, event: Extract<AttemptEvent, { type: "set_status" }>, at: number): Transition {
  // While a question is open, the task waits for a person, whatever else it does.
  const status = outstandingQuestions(task).length > 0 ? "input_required" : event.status;
  if (task.status === status && task.statusMessage === event.message) return refuse("unchanged");
  return { changes: { status, statusMessage: event.message, lastUpdatedAt: at } };
}

function ask(
  task: TaskRecord,
  { question, mostBytes }: Extract<AttemptEvent, { type: "ask" }>,
  at: number,
): Transition {
  if (task.questions.some((asked) => asked.key === question.key)) return refuse("key_taken");
  if (task.cancellation !== undefined) return refuse("cancel_requested");
  const questions = [...task.questions, question];
  if (!mayKeep(questions, mostBytes ?? Number.POSITIVE_INFINITY)) return refuse("too_large");
  return { changes: { status: "input_required", questions, lastUpdatedAt: at } };
}

/** Answers or withdraws one question; the last outstanding one sets the task to work again. */
function settleQuestion(
  task: TaskRecord,
  key: string,
  how: Partial<Question>,
  at: number,
  mostBytes: number = Number.POSITIVE_INFINITY,
): Transition {
  const question = task.questions.find((asked) => asked.key === key);
  if (question === undefined) return refuse("unknown_question");
  if (question.answer !== undefined || question.withdrawnAt !== undefined) return refuse("already_answered");
  const questions = task.questions.map((asked) => (asked === question ? { ...asked, ...how } : asked));
  if (!mayKeep(questions, mostBytes)) return refuse("too_large");
  if (outstandingQuestions({ questions }).length > 0) return { changes: { questions, lastUpdatedAt: at } };
  return { changes: { questions, status: "working", statusMessage: undefined, lastUpdatedAt: at } };
}

function finish(task: TaskRecord, event: Extract<AttemptEvent, { type: "finish" }>, at: number): Transition {
  const { outcome, statusMessage } = event;
  const status = outcome.kind === "result" || outcome.kind === "error_result" ? "completed" : "failed";
  const changes = ending(task, status, statusMessage, at);
  changes.outcome = outcome;
  takeLastReport(changes, event);
  // A complete result replaces the partial one; a failure keeps what was produced, which is where its cause is read.
  const isProduced = (changes.partialOutput ?? task.partialOutput) !== undefined;
  if (status === "completed" && isProduced) changes.partialOutput = undefined;
  return { changes };
}

function takeLastReport(changes: TaskChanges, { progress, partialOutput }: LastReport): void {
  if (progress !== undefined) changes.progress = progress;
  if (partialOutput !== undefined) changes.partialOutput = produced(partialOutput);
}

type CancelEnd = { how: CancelHow; error?: string } & LastReport;

function cancel(task: TaskRecord, event: CancelEnd, at: number): Transition {
  const how = event.how === "not_started" ? howUnbegun(task) : event.how;
  const changes = ending(task, "cancelled", cancelMessage(how), at);
  changes.cancellation = { requestedAt: task.cancellation?.requestedAt ?? at, how };
  if (event.error !== undefined) changes.cancellation.error = event.error;
  takeLastReport(changes, event);
  return { changes };
}

/** Of a task that no process runs. Between two tries there is nothing to stop, but there was work. */
function howUnbegun(task: TaskRecord): CancelHow {
  if (goesOnOutside(task)) return "still_running";
  return hasBegun(task.attempt) ? "stopped" : "not_started";
}

function cancelMessage(how: CancelHow): string {
  if (how === "not_started") return "Cancelled before it started.";
  return how === "stopped"
    ? "Cancelled; the work has stopped."
    : "Cancelled; the work did not stop in time and may still be running.";
}

/** What every last move has: the status with its message, the instants, the attempt's end, questions withdrawn. */
function ending(task: TaskRecord, status: TaskStatus, statusMessage: string | undefined, at: number): TaskChanges {
  const attempt = ended(task.attempt);
  // To be added to, one member after the other: what is spread of it into a new object takes a tenth of all that a task takes.
  const changes: TaskChanges = { status, statusMessage, finishedAt: at, lastUpdatedAt: at, attempt };
  return Object.assign(changes, withdrawn(task, at));
}

function ended(attempt: Attempt): Attempt {
  const { epoch, tries } = attempt;
  if (attempt.state !== "leased") return { state: "ended", epoch, tries };
  return { state: "ended", epoch, tries, runnerId: attempt.runnerId };
}

/** Takes back what is still asked. */
function withdrawn(task: TaskRecord, at: number): Pick<TaskChanges, "questions"> {
  if (outstandingQuestions(task).length === 0) return {};
  const questions = task.questions.map((asked) =>
    (asked.answer ?? asked.withdrawnAt) === undefined ? { ...asked, withdrawnAt: at } : asked,
  );
  return { questions };
}
