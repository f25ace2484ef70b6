import { recordOf, recordTextsOf, summarize, summaryOf, type TaskRecord } from "@claimcheck/core";
import { expect, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { changedTextsOf } from "../src/record-texts.js";

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

test("payloads are kept out of the head, each with a text of its own", () => {
  const secret = "s".repeat(100);
  const task = workingTask({ arguments: { secret }, partialOutput: [secret], checkpoint: secret });
  const { head, ...payloads } = recordTextsOf({ ...task, ...completion() });
  expect(head).not.toContain(secret);
  expect(Object.keys(payloads).sort()).toEqual(["arguments", "checkpoint", "outcome", "partialOutput"]);
});

test("texts are plain ASCII where a database's text is not exact", () => {
  const { arguments: text } = recordTextsOf(workingTask({ arguments: { nul: "a\0b", lone: "\ud800" } }));
  expect(text).toBe('{"nul":"a\\u0000b","lone":"\\ud800"}');
});

test("a change writes the head and the payloads that it has, a removed one as null", () => {
  const texts = changedTextsOf(finished, { partialOutput: ["a"], checkpoint: undefined, statusMessage: "x" });
  expect(texts).toEqual({ head: recordTextsOf(finished).head, partialOutput: '["a"]', checkpoint: null });
});

test("a record without its arguments, or finished without its outcome, is an error that names it", () => {
  const { head } = recordTextsOf(finished);
  expect(() => recordOf({ head })).toThrow(`${finished.taskId} is incomplete: somebody removed its arguments`);
  expect(() => recordOf({ head, arguments: "{}" })).toThrow("somebody removed its outcome");
  expect(() => recordOf({ head, arguments: null })).toThrow("somebody removed its arguments");
  expect(() => recordOf({ head, arguments: "{}", outcome: null })).toThrow("somebody removed its outcome");
});
