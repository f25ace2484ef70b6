import type { TaskRecord } from "@claimcheck/core";
import { expect, it } from "vitest";
import { RecordWriter } from "../src/record-writer.js";
import { FaultyStore } from "./kit/faulty-store.js";
import { liveTask, NOW } from "./kit/records.js";

it("an event is not written to another owner's record, though the store answers with it when it is read anew", async () => {
  const store = new FaultyStore();
  const alices = liveTask({ taskId: "tsk_a", owner: "alice", version: 1 });
  const bobs = liveTask({ taskId: "tsk_b", owner: "bob", version: 1 });
  await store.create(alices);
  await store.create(bobs);
  store.get = async (): Promise<TaskRecord> => bobs;
  const writer = new RecordWriter({ store, now: () => NOW, onWritten: () => {} });
  // A version of the past: the write is a conflict, and the record is read anew.
  const applied = await writer.apply({ ...alices, version: 0 }, { type: "request_cancel" });
  expect(applied).toBeNull();
  for (const taskId of ["tsk_a", "tsk_b"]) expect((await store.inner.get(taskId))?.cancellation).toBeUndefined();
});
