import { changedTextsOf, recordOf, recordTextsOf, summarize, summaryOf, type TaskRecord } from "@claimcheck/core";
import { expect, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";

const finished: TaskRecord = {
  ...workingTask({ idempotencyKey: "key", partialOutput: [1], checkpoint: null, statusMessage: "a\0b" }),
  ...completion(),
};

test("the texts of a record make the record, and its head what a listing shows", () => {
  const texts = recordTextsOf(finished);
  expect(recordOf(texts)).toEqual(finished);
  expect(summaryOf(texts.head)).toEqual(summarize(finished));
  expect(JSON.stringify(texts)).not.toContain("\0");
});

test("a change writes the head and the payloads that it has, a removed one as null", () => {
  const texts = changedTextsOf(finished, { partialOutput: ["a"], checkpoint: undefined, statusMessage: "x" });
  expect(texts).toEqual({ head: recordTextsOf(finished).head, partialOutput: '["a"]', checkpoint: null });
});

test("a record without its arguments, or finished without its outcome, is an error that names it", () => {
  const { head } = recordTextsOf(finished);
  expect(() => recordOf({ head })).toThrow(`${finished.taskId} is incomplete: somebody removed its arguments`);
  expect(() => recordOf({ head, arguments: "{}" })).toThrow("somebody removed its outcome");
});
