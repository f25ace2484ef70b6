import {
  applyChanges,
  isTerminal,
  outstandingQuestions,
  type TaskEvent,
  type TaskRecord,
  transition,
} from "@claimcheck/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { liveTask, NOW, question, text } from "./kit/records.js";

const epoch = fc.integer({ min: 0, max: 4 });
const key = fc.constantFrom("a", "b", "c");
const leaseUntilAt = fc.integer({ min: NOW - 100, max: NOW + 5000 });
const partialOutput = fc.array(fc.constantFrom("x", "y"), { maxLength: 2 });
const outcome = fc.constantFrom(
  { kind: "result", result: text("done") } as const,
  { kind: "error_result", result: text("no") } as const,
  { kind: "threw", message: "boom" } as const,
  { kind: "protocol_error", error: { code: 1, message: "no" } } as const,
);

const anyEvent: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.record({ type: fc.constant("start" as const), epoch, leaseUntilAt }),
  fc.record({ type: fc.constant("renew" as const), epoch, leaseUntilAt }),
  fc.record({ type: fc.constant("release" as const), epoch }),
  fc.record({
    type: fc.constant("retry" as const),
    epoch,
    notBeforeAt: leaseUntilAt,
    ranMs: fc.nat(100),
    statusMessage: fc.constant("again"),
  }),
  fc.record({ type: fc.constant("report" as const), epoch, partialOutput }),
  fc.record({ type: fc.constant("set_status" as const), epoch, status: fc.constantFrom("working", "input_required") }),
  fc.record({ type: fc.constant("ask" as const), epoch, question: key.map((asked) => question(asked)) }),
  fc.record({ type: fc.constant("withdraw" as const), epoch, key }),
  fc.record({ type: fc.constant("checkpoint" as const), epoch, checkpoint: fc.integer() }),
  fc.record({ type: fc.constant("finish" as const), epoch, outcome, partialOutput }),
  fc.record({ type: fc.constant("cancel" as const), epoch, how: fc.constantFrom("stopped", "still_running") }),
  fc.record({ type: fc.constant("lease" as const), runnerId: fc.constantFrom("r1", "r2"), leaseUntilAt }),
  fc.record({ type: fc.constant("answer" as const), key, answer: fc.constant({ ok: true }) }),
  fc.constant({ type: "request_cancel" as const }),
  fc.record({ type: fc.constant("cancel" as const), how: fc.constantFrom("not_started", "still_running") }),
  fc.constant({
    type: "lose" as const,
    outcome: { kind: "threw" as const, message: "lost" },
    statusMessage: "lost",
  }),
);

const anyHistory = fc.array(fc.tuple(anyEvent, fc.integer({ min: -500, max: 2000 })), { maxLength: 40 });
const queued = liveTask({ attempt: { state: "queued", epoch: 0, tries: 0 } });

/** Runs a history from a queued task; `look` sees every step. */
function play(
  history: [TaskEvent, number][],
  look: (before: TaskRecord, event: TaskEvent, after: TaskRecord, now: number) => void,
): void {
  let task: TaskRecord = queued;
  let now = NOW;
  for (const [event, step] of history) {
    now += step;
    const decided = transition(task, event, now);
    const after: TaskRecord = "refused" in decided ? task : applyChanges(task, decided.changes);
    look(task, event, after, now);
    task = after;
  }
}

const always = (look: Parameters<typeof play>[1]): void =>
  fc.assert(
    fc.property(anyHistory, (history) => play(history, look)),
    { numRuns: 500 },
  );

describe("whatever happens to a task", () => {
  it("a terminal record never changes", () => {
    let terminal = 0;
    always((before, _event, after) => {
      if (!isTerminal(before)) return;
      terminal += 1;
      expect(after).toBe(before);
    });
    expect(terminal).toBeGreaterThan(100);
  });

  it("a terminal record has its payload, its instant and no open question, all from one move", () => {
    always((before, _event, after) => {
      if (isTerminal(before) || !isTerminal(after)) return;
      expect(after.finishedAt).toBeGreaterThanOrEqual(after.createdAt);
      expect(after.attempt.state).toBe("ended");
      expect(outstandingQuestions(after)).toEqual([]);
      if (after.status !== "cancelled") expect(after.outcome).toBeDefined();
      if (after.status === "completed") expect(after.partialOutput).toBeUndefined();
      if (after.status === "cancelled") expect(after.cancellation?.how).toBeDefined();
    });
  });

  it("the version grows by one with every change, and instants never go back", () => {
    always((before, _event, after) => {
      expect(after.version).toBe(after === before ? before.version : before.version + 1);
      expect(after.lastUpdatedAt).toBeGreaterThanOrEqual(before.lastUpdatedAt);
    });
  });

  it("whoever has not the newest epoch changes nothing, and no epoch is given twice", () => {
    always((before, event, after) => {
      if ("epoch" in event && event.epoch !== before.attempt.epoch) expect(after).toBe(before);
      const grew = after.attempt.epoch - before.attempt.epoch;
      expect(grew).toBe(event.type === "lease" && after !== before ? 1 : 0);
    });
  });

  it("a live lease is taken from nobody", () => {
    always((before, event, after, now) => {
      if (before.attempt.state !== "leased" || before.attempt.leaseUntilAt <= now) return;
      if (event.type === "lease" || event.type === "lose") expect(after).toBe(before);
    });
  });

  it("a question is settled once, and input is required as long as one is open", () => {
    always((before, _event, after) => {
      for (const asked of before.questions) {
        const now = after.questions.find(({ key }) => key === asked.key);
        if (asked.answer !== undefined || asked.withdrawnAt !== undefined) expect(now).toEqual(asked);
      }
      if (!isTerminal(after) && outstandingQuestions(after).length > 0) expect(after.status).toBe("input_required");
    });
  });

  it("a kept partial output is never empty", () => {
    always((_before, _event, after) => expect(after.partialOutput?.length).not.toBe(0));
  });
});
