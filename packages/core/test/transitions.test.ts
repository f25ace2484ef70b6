import {
  applyChanges,
  type LiveTask,
  type Refusal,
  type TaskChanges,
  type TaskEvent,
  type TaskRecord,
  type TaskStatus,
  transition,
} from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { leased, liveTask, NOW, question, terminalTask, text } from "./kit/records.js";

const LATER = NOW + 1000;
const PASSED = NOW + 15_000;

/** One event of every type, legal on a task that runs under epoch 1. */
const EVENTS: { [Type in TaskEvent["type"]]: Extract<TaskEvent, { type: Type }>[] } = {
  start: [{ type: "start", epoch: 1, leaseUntilAt: LATER }],
  renew: [{ type: "renew", epoch: 1, leaseUntilAt: LATER }],
  release: [{ type: "release", epoch: 1 }],
  retry: [{ type: "retry", epoch: 1, notBeforeAt: PASSED, ranMs: 40, statusMessage: "Again soon." }],
  report: [{ type: "report", epoch: 1, progress: { current: 1 } }],
  set_status: [{ type: "set_status", epoch: 1, status: "input_required", message: "Which one?" }],
  ask: [{ type: "ask", epoch: 1, question: question("q1") }],
  withdraw: [{ type: "withdraw", epoch: 1, key: "open" }],
  checkpoint: [{ type: "checkpoint", epoch: 1, checkpoint: 7 }],
  finish: [{ type: "finish", epoch: 1, outcome: { kind: "result", result: text("done") } }],
  cancel: [
    { type: "cancel", epoch: 1, how: "stopped" },
    { type: "cancel", how: "still_running" },
  ],
  lease: [{ type: "lease", runnerId: "run_b", leaseUntilAt: PASSED + 15_000 }],
  answer: [{ type: "answer", key: "open", answer: { action: "accept" } }],
  request_cancel: [{ type: "request_cancel" }],
  lose: [{ type: "lose", outcome: { kind: "threw", reason: "runner_lost", message: "lost" }, statusMessage: "lost" }],
};
const ALL_EVENTS: TaskEvent[] = Object.values(EVENTS).flat();
const ATTEMPT_EVENTS = ALL_EVENTS.filter((event) => "epoch" in event);

function changesOf(task: TaskRecord, event: TaskEvent, now: number = LATER): TaskChanges {
  const decided = transition(task, event, now);
  if ("refused" in decided) throw new Error(`refused: ${decided.refused}`);
  return decided.changes;
}

function next(task: TaskRecord, event: TaskEvent, now: number = LATER): TaskRecord {
  return applyChanges(task, changesOf(task, event, now));
}

function refusalOf(task: TaskRecord, event: TaskEvent, now: number = LATER): Refusal | undefined {
  const decided = transition(task, event, now);
  return "refused" in decided ? decided.refused : undefined;
}

describe("every event on every status", () => {
  const leavesAt: Partial<Record<TaskEvent["type"], TaskStatus>> = {
    set_status: "input_required",
    ask: "input_required",
    finish: "completed",
    cancel: "cancelled",
    lose: "failed",
  };
  const working = liveTask({ questions: [question("open", { answer: {} })] });
  const waiting = liveTask({ status: "input_required", questions: [question("open")] });

  for (const event of ALL_EVENTS) {
    const outside = event.type === "lease" || event.type === "lose";
    const now = outside ? PASSED : LATER;
    it(`${event.type} on working leaves ${leavesAt[event.type] ?? "working"}`, () => {
      const settled = event.type === "answer" || event.type === "withdraw";
      if (settled) expect(refusalOf(working, event, now)).toBe("already_answered");
      else expect(next(working, event, now).status).toBe(leavesAt[event.type] ?? "working");
    });
    it(`${event.type} on input_required with an open question`, () => {
      const settles = event.type === "answer" || event.type === "withdraw";
      // The code that asked has ended.
      const expected = settles || event.type === "retry" ? "working" : (leavesAt[event.type] ?? "input_required");
      expect(next(waiting, event, now).status).toBe(expected);
    });
    for (const status of ["completed", "failed", "cancelled"] as const) {
      it(`${event.type} on ${status} is refused as terminal`, () => {
        expect(transition(terminalTask(status), event, now)).toEqual({ refused: "terminal" });
      });
    }
  }
});

describe("fencing by epoch", () => {
  for (const event of ATTEMPT_EVENTS) {
    it(`${event.type} under a stale epoch is refused`, () => {
      expect(refusalOf(liveTask({ attempt: leased({ epoch: 2 }) }), event)).toBe("stale_epoch");
    });
    it(`${event.type} on a task that nobody holds is refused`, () => {
      expect(refusalOf(liveTask({ attempt: { state: "queued", epoch: 1, tries: 0 } }), event)).toBe("not_leased");
    });
  }

  it("an attempt whose deadline has passed may still write while nobody else holds the lease", () => {
    const [finish] = EVENTS.finish;
    expect(next(liveTask(), finish as TaskEvent, PASSED + 1).status).toBe("completed");
  });
});

describe("leasing", () => {
  const [lease] = EVENTS.lease as [TaskEvent];

  it("takes a queued task under the next epoch and counts one try", () => {
    const task = next(liveTask({ attempt: { state: "queued", epoch: 4, tries: 1 } }), lease, PASSED);
    expect(task.attempt).toEqual({
      state: "leased",
      epoch: 5,
      tries: 2,
      runnerId: "run_b",
      leaseUntilAt: PASSED + 15_000,
    });
  });

  it("is refused until the last instant of a live lease, and taken at its end", () => {
    expect(refusalOf(liveTask(), lease, PASSED - 1)).toBe("lease_live");
    expect(next(liveTask(), lease, PASSED).attempt).toMatchObject({ epoch: 2, tries: 2, runnerId: "run_b" });
  });

  it("does not count a lease under which nothing ran", () => {
    const { startedAt: _startedAt, ...never } = leased() as { startedAt?: number } & ReturnType<typeof leased>;
    expect(next(liveTask({ attempt: never }), lease, PASSED).attempt).toMatchObject({ epoch: 2, tries: 1 });
  });

  it("is refused when the task is to be cancelled", () => {
    const task = liveTask({ attempt: { state: "queued", epoch: 1, tries: 0 }, cancellation: { requestedAt: NOW } });
    expect(refusalOf(task, lease)).toBe("cancel_requested");
  });

  it("sets a task to work again that waited for input without a question", () => {
    expect(next(liveTask({ status: "input_required" }), lease, PASSED).status).toBe("working");
    const asked = liveTask({ status: "input_required", questions: [question("open")] });
    expect(next(asked, lease, PASSED).status).toBe("input_required");
  });

  it("a hand-over in good order is no failed try", () => {
    const released = next(liveTask(), { type: "release", epoch: 1 });
    expect(released.attempt).toEqual({ state: "queued", epoch: 1, tries: 0, ranMs: 0 });
    expect(next(released, lease).attempt).toMatchObject({ epoch: 2, tries: 1 });
  });

  it("a lost task fails only once its lease has passed", () => {
    const [lose] = EVENTS.lose as [TaskEvent];
    expect(refusalOf(liveTask(), lose, PASSED - 1)).toBe("lease_live");
    expect(refusalOf(liveTask({ attempt: { state: "queued", epoch: 1, tries: 0 } }), lose)).toBe("not_leased");
    const lost = next(liveTask({ partialOutput: ["so far"] }), lose, PASSED);
    expect(lost).toMatchObject({ status: "failed", statusMessage: "lost", partialOutput: ["so far"] });
  });

  it("a task that is lost while it is being cancelled ends as cancelled", () => {
    const [lose] = EVENTS.lose as [TaskEvent];
    const task = liveTask({ cancellation: { requestedAt: NOW } });
    expect(next(task, lose, PASSED)).toMatchObject({
      status: "cancelled",
      cancellation: { requestedAt: NOW, how: "still_running", error: expect.stringContaining("lost") },
    });
  });

  it("a failed try is followed by a pause, in which nobody gets the lease", () => {
    const [retry] = EVENTS.retry as [TaskEvent];
    const pausing = next(liveTask({ statusMessage: "busy" }), retry);
    expect(pausing).toMatchObject({
      status: "working",
      statusMessage: "Again soon.",
      attempt: { state: "queued", tries: 1, notBeforeAt: PASSED, ranMs: 40 },
      lastUpdatedAt: LATER,
    });
    expect(refusalOf(pausing, lease, PASSED - 1)).toBe("not_due");
    expect(next(pausing, lease, PASSED).attempt).toMatchObject({ state: "leased", epoch: 2, tries: 2, ranMs: 40 });
  });

  it("a try that fails while it is being cancelled is the last", () => {
    const [retry] = EVENTS.retry as [TaskEvent];
    const cancelled = next(liveTask({ cancellation: { requestedAt: NOW } }), retry);
    expect(cancelled).toMatchObject({ status: "cancelled", cancellation: { requestedAt: NOW, how: "stopped" } });
  });

  it("a task that is cancelled between two tries had work, and it has stopped", () => {
    const [retry] = EVENTS.retry as [TaskEvent];
    const cancelled = next(next(liveTask(), retry), { type: "cancel", how: "not_started" });
    expect(cancelled).toMatchObject({ status: "cancelled", cancellation: { how: "stopped" } });
  });

  it("how long a tool has run is kept from attempt to attempt", () => {
    const renewed = next(liveTask(), { type: "renew", epoch: 1, leaseUntilAt: PASSED, ranMs: 5000 });
    expect(next(renewed, lease, PASSED).attempt).toMatchObject({ epoch: 2, ranMs: 5000 });
    const released = next(renewed, { type: "release", epoch: 1, ranMs: 6000 });
    expect(next(released, lease).attempt).toMatchObject({ epoch: 2, ranMs: 6000 });
    const again = next(next(released, lease), { type: "start", epoch: 2, leaseUntilAt: PASSED });
    expect(again.attempt).toMatchObject({ ranMs: 6000, startedAt: LATER });
  });

  it("progress begins anew where the work does, and not where it goes on", () => {
    const task = liveTask({ progress: { current: 3 }, partialOutput: ["half"] });
    expect(next({ ...task, recovery: "retry" }, lease, PASSED)).not.toHaveProperty("progress");
    expect(next({ ...task, recovery: "retry" }, lease, PASSED)).toMatchObject({ partialOutput: ["half"] });
    expect(next({ ...task, recovery: "resume" }, lease, PASSED)).toMatchObject({ progress: { current: 3 } });
  });

  it("that was seen to stand for its whole length is taken, whatever the time says, and one that was renewed since is not", () => {
    const seenOut = { epoch: 1, leaseUntilAt: PASSED };
    const taken = next(liveTask(), { ...lease, leaseMs: 3000, seenOut } as TaskEvent, NOW);
    expect(taken.attempt).toMatchObject({ epoch: 2, runnerId: "run_b", leaseMs: 3000 });
    const lose: TaskEvent = {
      type: "lose",
      outcome: { kind: "threw", message: "lost" },
      statusMessage: "lost",
      seenOut,
    };
    expect(next(liveTask(), lose, NOW)).toMatchObject({ status: "failed" });
    const renewed = next(liveTask(), { type: "renew", epoch: 1, leaseUntilAt: PASSED + 1 });
    const takenAnew = liveTask({ attempt: leased({ epoch: 2 }) });
    for (const task of [renewed, takenAnew])
      for (const event of [{ ...lease, seenOut } as TaskEvent, lose])
        expect(refusalOf(task, event, NOW)).toBe("lease_live");
  });

  it("of a task that is to be cancelled is taken where only its tool's resume can stop what it began", () => {
    const cancellation = { requestedAt: NOW };
    const begun = liveTask({ recovery: "resume", cancellation });
    const taken = next(begun, { ...lease, statusMessage: "being stopped" } as TaskEvent, PASSED);
    expect(taken).toMatchObject({ statusMessage: "being stopped", cancellation, attempt: { epoch: 2, tries: 2 } });
    const started = next(taken, { type: "start", epoch: 2, leaseUntilAt: PASSED + 15_000 });
    expect(started.attempt).toMatchObject({ startedAt: PASSED });
    expect(next(next(begun, { type: "release", epoch: 1 }), lease)).toMatchObject({ cancellation });
    expect(refusalOf({ ...begun, recovery: "retry" }, lease, PASSED)).toBe("cancel_requested");
    const { startedAt: _startedAt, ...never } = leased() as { startedAt?: number } & ReturnType<typeof leased>;
    expect(refusalOf({ ...begun, attempt: never }, lease, PASSED)).toBe("cancel_requested");
  });

  it("what may go on outside its lost process is not said to have stopped, or not to have started", () => {
    const handedOver = next(liveTask({ recovery: "resume" }), { type: "release", epoch: 1 });
    expect(refusalOf(handedOver, { type: "cancel", how: "not_started" })).toBe("goes_on_outside");
    const lose: TaskEvent = { type: "lose", outcome: { kind: "threw", message: "lost" }, statusMessage: "lost" };
    expect(refusalOf(handedOver, lose)).toBe("not_leased");
    const stillRunning = { status: "cancelled", cancellation: { how: "still_running" } };
    expect(next({ ...handedOver, cancellation: { requestedAt: NOW } } as TaskRecord, lose)).toMatchObject(stillRunning);
    const taken = next(handedOver, lease) as LiveTask;
    expect(next({ ...taken, cancellation: { requestedAt: NOW } }, lose, PASSED + 15_000)).toMatchObject(stillRunning);
    expect(next(taken, { type: "cancel", epoch: 2, how: "not_started" })).toMatchObject(stillRunning);
  });

  it("a task that waits for anybody who knows its tool fails by no lease", () => {
    const queued = liveTask({ attempt: { state: "queued", epoch: 1, tries: 0 } });
    const unknown = { kind: "threw", reason: "unknown_tool", message: "no such tool" } as const;
    expect(next(queued, { type: "lose", outcome: unknown, statusMessage: "no such tool" })).toMatchObject({
      status: "failed",
      outcome: unknown,
    });
  });

  it("renewing and starting move the deadline and are no news to a client", () => {
    for (const type of ["renew", "start"] as const) {
      const task = next(liveTask(), { type, epoch: 1, leaseUntilAt: LATER + 5 });
      expect(task.attempt).toMatchObject({ leaseUntilAt: LATER + 5 });
      expect(task.lastUpdatedAt).toBe(NOW);
    }
  });

  it("a start is refused once cancelling was asked for", () => {
    const task = liveTask({ cancellation: { requestedAt: NOW } });
    expect(refusalOf(task, { type: "start", epoch: 1, leaseUntilAt: LATER })).toBe("cancel_requested");
  });
});

describe("ending", () => {
  it("a result completes the task and replaces what was visible of it", () => {
    const task = next(liveTask({ statusMessage: "half", partialOutput: ["half"] }), EVENTS.finish[0] as TaskEvent);
    expect(task).toEqual({
      ...liveTask(),
      status: "completed",
      outcome: { kind: "result", result: text("done") },
      finishedAt: LATER,
      lastUpdatedAt: LATER,
      attempt: { state: "ended", epoch: 1, tries: 1, runnerId: "run_a" },
      version: 2,
    });
  });

  it.each([
    ["error_result", { kind: "error_result", result: text("no") }, "completed"],
    ["threw", { kind: "threw", message: "boom" }, "failed"],
    ["protocol_error", { kind: "protocol_error", error: { code: -32000, message: "no" } }, "failed"],
  ] as const)("an outcome of kind %s ends as it is", (_kind, outcome, status) => {
    const task = next(liveTask(), { type: "finish", epoch: 1, outcome, statusMessage: "why" });
    expect(task).toMatchObject({ status, outcome, statusMessage: "why" });
  });

  it("a failure keeps the partial output of the record, or the newer one that comes with it", () => {
    const outcome = { kind: "threw", message: "boom" } as const;
    const before = liveTask({ partialOutput: ["old"] });
    expect(next(before, { type: "finish", epoch: 1, outcome }).partialOutput).toEqual(["old"]);
    expect(next(before, { type: "finish", epoch: 1, outcome, partialOutput: ["new"] }).partialOutput).toEqual(["new"]);
  });

  it.each<[string, TaskEvent]>([
    ["a report", { type: "report", epoch: 1, partialOutput: [] }],
    ["a failure", { type: "finish", epoch: 1, outcome: { kind: "threw", message: "boom" }, partialOutput: [] }],
    ["a cancellation", { type: "cancel", epoch: 1, how: "stopped", partialOutput: [] }],
  ])("outputs that %s says were cleared are nothing produced, not an empty list", (_what, event) => {
    expect("partialOutput" in next(liveTask({ partialOutput: ["old"] }), event)).toBe(false);
  });

  it("withdraws what is still asked, and leaves answers as they are", () => {
    const asked = [question("a", { answer: { ok: true } }), question("b"), question("c", { withdrawnAt: NOW })];
    const { questions } = next(liveTask({ questions: asked }), { type: "cancel", how: "still_running" });
    expect(questions).toEqual([asked[0], { ...asked[1], withdrawnAt: LATER }, asked[2]]);
  });

  it("cancelling says how it went, when it was asked for and what failed on the way", () => {
    const task = liveTask({ cancellation: { requestedAt: NOW } });
    const ended = next(task, { type: "cancel", epoch: 1, how: "still_running", error: "no interrupt" });
    expect(ended).toMatchObject({
      status: "cancelled",
      statusMessage: expect.stringContaining("still be running"),
      cancellation: { requestedAt: NOW, how: "still_running", error: "no interrupt" },
    });
  });

  it("a task that somebody took up meanwhile does not end as not started", () => {
    expect(refusalOf(liveTask(), { type: "cancel", how: "not_started" })).toBe("lease_live");
    const queued = liveTask({ attempt: { state: "queued", epoch: 1, tries: 0 } });
    expect(next(queued, { type: "cancel", how: "not_started" }).status).toBe("cancelled");
  });

  it("asking for a cancellation takes back what is still asked, and leaves the status to the end", () => {
    const task = liveTask({ status: "input_required", questions: [question("q")] });
    expect(next(task, { type: "request_cancel" })).toMatchObject({
      status: "input_required",
      questions: [{ key: "q", withdrawnAt: LATER }],
    });
  });

  it("a cancellation is asked for once", () => {
    const task = next(liveTask(), { type: "request_cancel" });
    expect(task).toMatchObject({ status: "working", cancellation: { requestedAt: LATER } });
    expect(refusalOf(task, { type: "request_cancel" })).toBe("unchanged");
  });

  it("instants never go back when the clock does", () => {
    const ended = next(liveTask({ lastUpdatedAt: NOW + 500 }), EVENTS.finish[0] as TaskEvent, NOW - 3_600_000);
    expect(ended).toMatchObject({ finishedAt: NOW + 500, lastUpdatedAt: NOW + 500 });
  });
});

describe("questions and status", () => {
  it("two may be open at once; the last answer sets the task to work", () => {
    const asked = ["a", "b"].reduce<TaskRecord>(
      (task, key) => next(task, { type: "ask", epoch: 1, question: question(key) }),
      liveTask(),
    );
    const one = next(asked, { type: "answer", key: "a", answer: { n: 1 } });
    expect(one.status).toBe("input_required");
    const both = next(one, { type: "answer", key: "b", answer: { n: 2 } });
    expect(both.status).toBe("working");
    expect(both.questions.map(({ answer }) => answer)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it.each([
    ["an unknown key", question("other"), "unknown_question"],
    ["an answered key", question("q", { answer: {} }), "already_answered"],
    ["a withdrawn key", question("q", { withdrawnAt: NOW }), "already_answered"],
  ] as const)("an answer to %s is refused", (_what, asked, refusal) => {
    expect(refusalOf(liveTask({ questions: [asked] }), { type: "answer", key: "q", answer: {} })).toBe(refusal);
  });

  it("a key is not asked twice, whatever became of the first", () => {
    const task = liveTask({ questions: [question("q", { answer: {} })] });
    expect(refusalOf(task, { type: "ask", epoch: 1, question: question("q") })).toBe("key_taken");
  });

  it("nothing is asked any more once cancelling was asked for", () => {
    const task = liveTask({ cancellation: { requestedAt: NOW } });
    expect(refusalOf(task, { type: "ask", epoch: 1, question: question("q") })).toBe("cancel_requested");
  });

  it("a task with an open question goes on waiting for a person, whatever status its tool sets", () => {
    const task: LiveTask = liveTask({ status: "input_required", questions: [question("q")] });
    const said = next(task, { type: "set_status", epoch: 1, status: "working", message: "busy" });
    expect(said).toMatchObject({ status: "input_required", statusMessage: "busy" });
  });

  it("setting what is set already changes nothing", () => {
    const task = liveTask({ statusMessage: "busy" });
    expect(refusalOf(task, { type: "set_status", epoch: 1, status: "working", message: "busy" })).toBe("unchanged");
  });

  it("a status that is set without a message leaves none of the old one", () => {
    const task = liveTask({ status: "input_required", statusMessage: "Which one?" });
    expect("statusMessage" in next(task, { type: "set_status", epoch: 1, status: "working" })).toBe(false);
  });

  it("a report changes what it names and nothing else", () => {
    const task = liveTask({ statusMessage: "was", partialOutput: ["was"], progress: { current: 1 } });
    expect(changesOf(task, { type: "report", epoch: 1, progress: { current: 2 } })).toEqual({
      progress: { current: 2 },
      lastUpdatedAt: LATER,
    });
  });
});
