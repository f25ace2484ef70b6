import type { TaskHandle } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { prepared } from "../../src/tools/prepare.js";
import { WaitLimit } from "../../src/tools/wait-limit.js";
import type { Site } from "../../src/tools/workbench.js";

const SITE = {} as Site;
const never = <T>(): Promise<T> => new Promise(() => {});

function call(task: TaskHandle | null = null) {
  const clock = new FakeClock();
  const heard: (string | undefined)[] = [];
  const ctx = {
    task,
    sendProgress: (_: number, said?: { message?: string }) => heard.push(said?.message) > 0,
  };
  const after = <T>(ms: number, value: T): Promise<T> =>
    new Promise((resolve) => clock.setTimer(() => resolve(value), ms));
  return { clock, heard, ctx, after, waitLimit: new WaitLimit(50_000, clock) };
}

describe("a plain call that waits for what its run needs", () => {
  it("gets it where it is there in time, hears of each step, and leaves no timer", async () => {
    const { clock, ctx, waitLimit, heard } = call();
    const site = async (tell: (line: string) => void): Promise<Site> => {
      tell("looking");
      tell("starting");
      return SITE;
    };
    const ready = await prepared(ctx, { site }, waitLimit, async (given) => [given, "kernel"]);
    expect(ready).toEqual([SITE, "kernel"]);
    expect(heard).toEqual(["looking", "starting"]);
    expect(clock.pending).toBe(0);
  });

  it("is told at its limit how far the server is, and no kernel is started for it when the server comes", async () => {
    const { clock, ctx, waitLimit, after } = call();
    let kernels = 0;
    const site = (tell: (line: string) => void): Promise<Site> => {
      tell("installing it");
      return after(60_000, SITE);
    };
    const told = expect(prepared(ctx, { site }, waitLimit, async () => ++kernels)).rejects.toThrow(
      /^Jupyter is still being installed or started on this machine \(installing it\) after 50 s, .*nothing has been run.*Call again/,
    );
    await clock.advance(50_000);
    await told;
    await clock.advance(10_000);
    await settle();
    expect(kernels).toBe(0);
  });

  it("waits for the kernel no longer than what the server has left of the limit", async () => {
    const { clock, ctx, waitLimit, after } = call();
    const told = expect(
      prepared(ctx, { site: () => after(30_000, SITE) }, waitLimit, () => after(30_000, "kernel")),
    ).rejects.toThrow(/has not got the kernel ready after 50 s, .*nothing has been run.*Call again/);
    await clock.advance(30_000);
    await clock.advance(20_000);
    await told;
  });

  it("hears why there is no server, or no kernel", async () => {
    const { clock, ctx, waitLimit } = call();
    const failing = async (): Promise<never> => {
      throw new Error("no Python");
    };
    await expect(prepared(ctx, { site: failing }, waitLimit, never)).rejects.toThrow("no Python");
    await expect(prepared(ctx, { site: async () => SITE }, waitLimit, failing)).rejects.toThrow("no Python");
    expect(clock.pending).toBe(0);
  });
});

it("a task waits as long as it takes", async () => {
  const { clock, ctx, waitLimit, after } = call({} as TaskHandle);
  const ready = prepared(ctx, { site: () => after(600_000, SITE) }, waitLimit, () => after(600_000, "kernel"));
  await clock.advance(600_000);
  await clock.advance(600_000);
  expect(await ready).toBe("kernel");
});
