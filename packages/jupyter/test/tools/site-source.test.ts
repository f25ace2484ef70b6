import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { readyWithin } from "../../src/tools/site-source.js";
import type { Site } from "../../src/tools/workbench.js";

const site = {} as Site;

describe("a plain call that waits for a private server", () => {
  it("gets the server that is there in time, and leaves no timer", async () => {
    const clock = new FakeClock();
    expect(await readyWithin(50_000, Promise.resolve(site), clock)).toBe(site);
    expect(clock.pending).toBe(0);
  });

  it("is told that nothing has run when the server is not there in time", async () => {
    const clock = new FakeClock();
    const waiting = readyWithin(50_000, new Promise<Site>(() => {}), clock);
    const told = expect(waiting).rejects.toThrow(/nothing has been run.*Call again/);
    await clock.advance(50_000);
    await told;
  });

  it("hears why the server could not be started", async () => {
    const clock = new FakeClock();
    await expect(readyWithin(50_000, Promise.reject(new Error("no Python")), clock)).rejects.toThrow("no Python");
    expect(clock.pending).toBe(0);
  });
});
