import { recordTextsOf, type TaskRecord } from "@claimcheck/core";
import { expect, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { RecordCache } from "../src/record-cache.js";

function keep(cache: RecordCache, record: TaskRecord): void {
  cache.keep(record, recordTextsOf(record));
}

test("a record is found at the version that it was kept with, and at no other", () => {
  const cache = new RecordCache();
  const task = workingTask({ version: 3 });
  keep(cache, task);
  expect(cache.at(task.taskId, 3)).toBe(task);
  expect(cache.at(task.taskId, 2)).toBeUndefined();
  expect(cache.at(task.taskId, 4)).toBeUndefined();
  expect(cache.at("tsk_other", 3)).toBeUndefined();
});

test("a record that has finished is not kept, nor what it was before", () => {
  const cache = new RecordCache();
  const task = workingTask();
  keep(cache, task);
  keep(cache, { ...task, ...completion(), version: 2 });
  expect(cache.at(task.taskId, 1)).toBeUndefined();
  expect(cache.size).toBe(0);
});

test("the least recently written records make room for new ones", () => {
  const cache = new RecordCache();
  const tasks = Array.from({ length: 1500 }, () => workingTask());
  const [first] = tasks as [TaskRecord];
  for (const task of tasks.slice(0, 1000)) keep(cache, task);
  keep(cache, first);
  for (const task of tasks.slice(1000)) keep(cache, task);
  expect(cache.size).toBe(1000);
  expect(cache.at(first.taskId, 1)).toBe(first);
  expect(cache.at(String(tasks[1]?.taskId), 1)).toBeUndefined();
});

test("large records make room sooner, payloads that did not change counted", () => {
  const cache = new RecordCache();
  for (let n = 0; n < 100; n += 1) {
    const task = workingTask({ arguments: { text: "x".repeat(1024 * 1024) } });
    keep(cache, task);
    for (let version = 2; version < 5; version += 1) cache.keep({ ...task, version }, { head: "{}" });
  }
  expect(cache.size).toBe(31);
});
