import { DEFAULT_LIMITS } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { TaskLedger } from "../src/task-ledger.js";
import { NOW, terminalTask } from "./kit/records.js";

function ledger({ runsTasks = true, ...limits }: Partial<typeof DEFAULT_LIMITS> & { runsTasks?: boolean } = {}) {
  const time = { now: NOW };
  const tasks = new TaskLedger({ limits: { ...DEFAULT_LIMITS, ...limits }, runsTasks, now: () => time.now });
  const ended = (taskId: string, ttlMs = 60_000) => tasks.ended({ ...terminalTask("completed"), taskId, ttlMs });
  return { time, tasks, ended };
}

describe("nothing is left", () => {
  it("of a hundred thousand tasks of a thousand owners that came, ended and expired", () => {
    const { time, tasks, ended } = ledger();
    for (let i = 0; i < 100_000; i += 1) {
      tasks.enter(`t${i}`, `owner-${i % 1000}`);
      ended(`t${i}`);
      tasks.leave(`t${i}`);
    }
    expect(tasks.owners).toBe(1000);
    time.now += 61_000;
    expect(tasks.owners).toBe(0);
  });

  it("of tasks that left without an end, were entered twice, or ended twice", () => {
    const { time, tasks, ended } = ledger({ retainedPerOwner: 3 });
    for (let i = 0; i < 10; i += 1) {
      tasks.enter("lost", "alice");
      tasks.enter("lost", "alice");
      tasks.leave("lost");
      tasks.leave("lost");
    }
    tasks.enter("a", "alice");
    ended("a");
    ended("a");
    tasks.leave("a");
    tasks.enter("b", "alice");
    expect(tasks.refusalOf("alice")).toBeNull();
    tasks.enter("c", "alice");
    expect(tasks.refusalOf("alice")?.data).toEqual({ limit: "retainedPerOwner", max: 3 });
    tasks.leave("b");
    tasks.leave("c");
    time.now += 61_000;
    expect(tasks.owners).toBe(0);
  });
});

describe("tasks that run elsewhere", () => {
  it("leave when their end is heard of, and are kept on", () => {
    const { tasks, ended } = ledger({ runsTasks: false, tasksPerOwner: 1, retainedPerOwner: 2 });
    tasks.enter("a", "alice");
    expect(tasks.awaits("a")).toBe(true);
    expect(tasks.refusalOf("alice")?.data?.limit).toBe("tasksPerOwner");
    ended("a");
    expect(tasks.awaits("a")).toBe(false);
    expect(tasks.refusalOf("alice")).toBeNull();
    tasks.enter("b", "alice");
    ended("b");
    expect(tasks.refusalOf("alice")?.data?.limit).toBe("retainedPerOwner");
  });

  it("are looked at in turn, so that no lost news counts for ever", () => {
    const { tasks } = ledger({ runsTasks: false });
    for (const taskId of ["a", "b", "c"]) tasks.enter(taskId, "alice");
    expect(tasks.lookedAtLeast(2)).toEqual(["a", "b"]);
    expect(tasks.lookedAtLeast(2)).toEqual(["c", "a"]);
    expect(tasks.lookedAtLeast(10)).toHaveLength(3);
  });

  it("are none where tasks run in this process, which knows when they leave", () => {
    const { tasks } = ledger();
    tasks.enter("a", "alice");
    expect(tasks.awaits("a")).toBe(false);
    expect(tasks.lookedAtLeast(10)).toEqual([]);
  });
});
