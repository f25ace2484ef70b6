import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FreshReader } from "../src/fresh-reader.js";
import { Log } from "./kit/log.js";
import { liveTask } from "./kit/records.js";

describe("reading a task anew", () => {
  it("is done once however many ask, and once more for whoever asked while it was under way", async () => {
    const answers: (() => void)[] = [];
    let found = 0;
    const reader = new FreshReader({
      read: () => new Promise((resolve) => answers.push(() => resolve(liveTask()))),
      found: () => {
        found += 1;
      },
      logger: new Log(),
    });
    for (let n = 0; n < 10; n += 1) void reader.look("tsk_1");
    expect(answers).toHaveLength(1);
    answers[0]?.();
    await settle();
    expect(answers).toHaveLength(2);
    answers[1]?.();
    await settle();
    expect(answers).toHaveLength(2);
    expect(found).toBe(2);
  });

  it("is over for everybody who asked when what they asked for has been found, and for nobody sooner", async () => {
    const answers: (() => void)[] = [];
    const told: string[] = [];
    const reader = new FreshReader({
      read: () => new Promise((resolve) => answers.push(() => resolve(liveTask()))),
      found: () => void told.push("found"),
      logger: new Log(),
    });
    const look = (who: string) => void reader.look("tsk_1").then(() => told.push(who));
    look("first");
    look("second");
    look("third");
    await settle();
    expect(told).toEqual([]);
    answers[0]?.();
    await settle();
    look("fourth");
    expect(told).toEqual(["found", "first"]);
    answers[1]?.();
    await settle();
    expect(told).toEqual(["found", "first", "found", "second", "third"]);
    answers[2]?.();
    await settle();
    expect(told.slice(5)).toEqual(["found", "fourth"]);
    expect(answers).toHaveLength(3);
  });

  it("that fails is logged and leaves the way open for the next", async () => {
    const log = new Log();
    let fails = true;
    let found = 0;
    const reader = new FreshReader({
      read: async () => {
        if (fails) throw new Error("no");
        return null;
      },
      found: () => {
        found += 1;
      },
      logger: log,
    });
    await reader.look("tsk_1");
    fails = false;
    await reader.look("tsk_1");
    expect(found).toBe(1);
    expect(log.lines).toHaveLength(1);
  });
});
