import { RecordChanger, type RecordRows, recordOf, recordTextsOf, type TaskRecord } from "@claimcheck/core";
import { describe, expect, test } from "vitest";
import { workingTask } from "../../../test/fixtures/working-task.js";

/** One row, as a store would hold it. */
class Rows implements RecordRows {
  record: TaskRecord | null;
  reads = 0;
  writes = 0;

  constructor(record: TaskRecord | null) {
    this.record = record;
  }

  read: RecordRows["read"] = async () => {
    this.reads += 1;
    return this.record && recordTextsOf(this.record);
  };

  write: RecordRows["write"] = async ({ known, texts }) => {
    this.writes += 1;
    if (this.record === null) return "gone";
    if (this.record.version !== known.version) return "conflict";
    this.record = recordOf({ ...recordTextsOf(this.record), ...texts });
    return "written";
  };
}

describe("a change of a record", () => {
  test("reads what it changes once, and nothing of what it has written itself", async () => {
    const rows = new Rows(workingTask());
    const changer = new RecordChanger(rows);
    const first = await changer.change("task", 1, { statusMessage: "one" });
    const second = await changer.change(rows.record?.taskId ?? "", 2, { statusMessage: "two" });
    expect(first).toMatchObject({ version: 2, statusMessage: "one" });
    expect(second).toEqual(rows.record);
    expect(rows.reads).toBe(1);
  });

  test("writes nothing on another version than the one that is there", async () => {
    const rows = new Rows(workingTask({ version: 3 }));
    expect(await new RecordChanger(rows).change("task", 2, { statusMessage: "late" })).toBe("conflict");
    expect(rows.writes).toBe(0);
  });

  test("answers null for a record that is not there, or goes while it is written", async () => {
    expect(await new RecordChanger(new Rows(null)).change("task", 1, {})).toBeNull();
    const rows = new Rows(workingTask());
    const changer = new RecordChanger(rows);
    const { taskId } = (await changer.change("task", 1, {})) as TaskRecord;
    rows.record = null;
    expect(await changer.change(taskId, 2, {})).toBeNull();
  });

  test("reads anew what somebody else has changed meanwhile", async () => {
    const rows = new Rows(workingTask());
    const changer = new RecordChanger(rows);
    const { taskId } = (await changer.change("task", 1, {})) as TaskRecord;
    rows.record = { ...(rows.record as TaskRecord), version: 3, statusMessage: "theirs" };
    expect(await changer.change(taskId, 2, { statusMessage: "late" })).toBe("conflict");
    expect(await changer.change(taskId, 3, { statusMessage: "ours" })).toMatchObject({ version: 4 });
    expect(rows.reads).toBe(2);
  });

  test("answers a frozen record that shares nothing with the caller", async () => {
    const checkpoint = { done: ["a"] };
    const changer = new RecordChanger(new Rows(workingTask()));
    const changed = (await changer.change("task", 1, { checkpoint })) as TaskRecord;
    checkpoint.done.push("b");
    expect(changed.checkpoint).toEqual({ done: ["a"] });
    expect(Object.isFrozen(changed.checkpoint)).toBe(true);
  });
});
