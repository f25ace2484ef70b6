import { isTaskError } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { PollLimiter } from "../src/poll-limiter.js";

function limiter(perSecond: number) {
  const time = { now: 1_000_000 };
  const polls = new PollLimiter({ perSecond, now: () => time.now });
  const ask = (owner = "alice"): unknown => {
    try {
      polls.check(owner);
    } catch (error) {
      return isTaskError(error) ? error.data : error;
    }
    polls.spend(owner);
    return "answered";
  };
  const answered = (times: number, owner?: string) =>
    Array.from({ length: times }, () => ask(owner)).filter((answer) => answer === "answered").length;
  return { time, polls, ask, answered };
}

describe("an owner who asks in vain", () => {
  it("may ask five seconds' worth at once, and is then told when to ask again", () => {
    const { ask, answered } = limiter(10);
    expect(answered(60)).toBe(50);
    expect(ask()).toEqual({ limit: "pollsPerSecond", max: 10, retryAfterMs: 100 });
  });

  it("is answered when asking again as told", () => {
    const { time, ask, answered } = limiter(10);
    answered(60);
    for (let i = 0; i < 20; i += 1) {
      time.now += (ask() as { retryAfterMs: number }).retryAfterMs;
      expect(ask()).toBe("answered");
    }
  });

  it("at the rate that was set is never refused", () => {
    const { time, answered } = limiter(10);
    answered(50);
    for (let i = 0; i < 1000; i += 1) {
      time.now += 100;
      expect(answered(1)).toBe(1);
    }
  });

  it("is refused without costing more: refusals do not add to the debt", () => {
    const { time, answered } = limiter(10);
    answered(10_000);
    time.now += 100;
    expect(answered(1)).toBe(1);
  });

  it("takes nothing from another", () => {
    const { answered } = limiter(10);
    answered(100, "mallory");
    expect(answered(60, "alice")).toBe(50);
  });

  it("who asked much at one moment, before any answer, is waited for at most for twice the burst", () => {
    const { time, polls, ask } = limiter(10);
    for (let i = 0; i < 10_000; i += 1) polls.spend("alice");
    time.now += 5_200;
    expect(ask()).toBe("answered");
  });

  it("loses nothing to a clock that is set back", () => {
    const { time, ask, answered } = limiter(10);
    answered(50);
    time.now -= 3_600_000;
    expect(ask()).toMatchObject({ retryAfterMs: 100 });
    time.now += 100;
    expect(ask()).toBe("answered");
  });
});

it("names of members that every object has are owners like any other", () => {
  const { answered } = limiter(10);
  for (const owner of ["__proto__", "constructor", "toString"]) expect(answered(60, owner)).toBe(50);
});

it("owners who have gone quiet are forgotten, and only they", () => {
  const { time, polls, answered, ask } = limiter(1);
  for (let i = 0; i < 10_000; i += 1) answered(1, `owner-${i}`);
  expect(polls.size).toBe(10_000);
  answered(6, "busy");
  for (let round = 0; round < 3; round += 1) {
    time.now += 10_000;
    answered(6, "busy");
  }
  expect(polls.size).toBe(1);
  expect(ask("busy")).toMatchObject({ limit: "pollsPerSecond" });
});
