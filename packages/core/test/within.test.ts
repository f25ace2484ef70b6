import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { LATE, within } from "../src/within.js";

describe("waiting for work within a limit", () => {
  it("answers what the work comes to, and leaves no timer behind", async () => {
    const clock = new FakeClock();
    expect(await within(clock, 1000, Promise.resolve("done"))).toBe("done");
    expect(clock.pending).toBe(0);
  });

  it("rejects as the work does, and leaves no timer behind", async () => {
    const clock = new FakeClock();
    await expect(within(clock, 1000, Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(clock.pending).toBe(0);
  });

  it("is late once the limit has passed, and a rejection after that is nobody's", async () => {
    const clock = new FakeClock();
    let fail = (_error: Error): void => {};
    const work = new Promise((_resolve, reject) => {
      fail = reject;
    });
    const waited = within(clock, 1000, work);
    await clock.advance(1000);
    expect(await waited).toBe(LATE);
    fail(new Error("too late to matter"));
    await clock.advance(1);
  });
});
