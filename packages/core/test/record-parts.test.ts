import {
  CHANGING_MEMBERS,
  changedMembers,
  composeRecord,
  composeSummary,
  fixedMembers,
  type JsonObject,
  type JsonValue,
  PAYLOAD_MEMBERS,
  summarize,
  type TaskRecord,
} from "@claimcheck/core";
import { expect, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";

const finished: TaskRecord = {
  ...workingTask({ idempotencyKey: "key", partialOutput: [1], checkpoint: null, statusMessage: "done" }),
  ...completion(),
};

function pick(members: readonly string[]): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(finished).filter(([member]) => members.includes(member)));
}

test("the parts of a record make the record", () => {
  const rest = { version: finished.version, outcomeKind: "result" };
  const summary = composeSummary(fixedMembers(finished) as JsonObject, pick(CHANGING_MEMBERS), rest);
  expect(summary).toEqual(summarize(finished));
  expect(composeRecord(summary, pick(PAYLOAD_MEMBERS))).toEqual(finished);
});

test("a record without its arguments, or finished without its outcome, is an error that names it", () => {
  const summary = summarize(finished);
  expect(() => composeRecord(summary, {})).toThrow(`${finished.taskId} is incomplete: somebody removed its arguments`);
  expect(() => composeRecord(summary, { arguments: {} })).toThrow("somebody removed its outcome");
});

test("equal changes are in the same order, however the caller wrote them", () => {
  const there = changedMembers({ status: "failed", finishedAt: 1, checkpoint: undefined });
  const back = changedMembers({ checkpoint: undefined, finishedAt: 1, status: "failed" });
  expect(there).toEqual(back);
  expect(there).toContainEqual(["checkpoint", undefined]);
});

test("a change of what never changes is refused", () => {
  expect(() => changedMembers({ owner: "eve" } as never)).toThrow("A task's owner never changes.");
});
