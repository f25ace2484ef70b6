import { systemClock } from "@claimcheck/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const DAY = 24 * 60 * 60_000;

describe("the host's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("waits as long as it is told, also for longer than a timer of Node's can", () => {
    for (const delayMs of [0, 10, 2 ** 31 - 1, 2 ** 31, 400 * DAY]) {
      let called = 0;
      systemClock.setTimer(() => {
        called += 1;
      }, delayMs);
      if (delayMs > 0) vi.advanceTimersByTime(delayMs - 1);
      expect(called).toBe(0);
      vi.advanceTimersByTime(1);
      expect(called).toBe(1);
      vi.advanceTimersByTime(400 * DAY);
      expect(called).toBe(1);
    }
  });

  it("forgets a timer that is cleared, also after its first slice", () => {
    let called = 0;
    const timer = systemClock.setTimer(() => {
      called += 1;
    }, 40 * DAY);
    vi.advanceTimersByTime(30 * DAY);
    systemClock.clearTimer(timer);
    vi.advanceTimersByTime(100 * DAY);
    expect(called).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
