/** Time that is set forward and back, and machines that sleep, under work that goes on. */
import type { ToolHandler } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, hang, outage } from "./kit/faulty-store.js";
import { done, endless, HeldHandler, openRuntime, taskOf } from "./kit/runtime.js";
import { SharedBackend } from "./kit/shared-store.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** After which a move that the store did not take is tried again. */
const FIRST_RETRY_MS = 50;

const UPSETS: [string, (clock: FakeClock) => void][] = [
  ["two days forward", (clock) => clock.jump(2 * DAY)],
  ["an hour back", (clock) => clock.jump(-HOUR)],
  ["eight hours on, asleep", (clock) => clock.sleep(8 * HOUR)],
];

describe.each(UPSETS)("when the time is set %s", (_what, upset) => {
  it("work that runs has run no longer for it, and its limit comes when it has", async () => {
    const held = new HeldHandler();
    const { clock, start, get } = await openRuntime(held.handler, { tool: { maxRunMs: 60_000, cancelGraceMs: 10 } });
    const { taskId } = await start();
    await clock.advance(30_000);
    upset(clock);
    await clock.advance(29_000);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    expect(held.contexts[0]?.signal.aborted).toBe(false);
    await clock.advance(1100);
    expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
  });

  it("work that is told to stop has its grace, and is given up when that has passed", async () => {
    const { clock, start, get } = await openRuntime(endless, { tool: { maxRunMs: 1000, cancelGraceMs: 1000 } });
    const { taskId } = await start();
    await clock.advance(1500);
    upset(clock);
    await clock.advance(400);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(100);
    expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
  });

  it("a store that hangs is waited for as long as its time-out says", async () => {
    const store = new FaultyStore();
    const { clock, get } = await openRuntime(done, { store, storeTimeoutMs: 1000 });
    store.before = ({ method }) => (method === "get" ? hang() : undefined);
    const failures: unknown[] = [];
    void get("tsk_1").catch((error: unknown) => failures.push(error));
    await clock.advance(500);
    upset(clock);
    await clock.advance(400);
    expect(failures).toEqual([]);
    await clock.advance(100);
    expect(failures).toMatchObject([{ name: "StoreTimeoutError" }]);
  });

  it("a move that the store did not take is tried again as soon as otherwise", async () => {
    const store = new FaultyStore();
    const held = new HeldHandler();
    const { clock, start, get } = await openRuntime(held.handler, { store });
    const { taskId } = await start();
    await settle();
    let tries = 0;
    store.before = ({ changes }) => {
      if (changes?.status === undefined) return;
      tries += 1;
      if (tries === 1) outage();
    };
    held.end();
    await settle();
    upset(clock);
    await clock.advance(FIRST_RETRY_MS - 1);
    expect(tries).toBe(1);
    await clock.advance(1);
    expect(await get(taskId)).toMatchObject({ status: "completed" });
  });

  it("no task is run by two processes, and none is given up by the one that runs it", async () => {
    const clock = new FakeClock();
    const backend = new SharedBackend(clock);
    const runs: string[] = [];
    const nodes = await Promise.all(
      ["a", "b", "c"].map((name) =>
        openRuntime(
          (args, context) => {
            runs.push(name);
            return endless(args, context);
          },
          { clock, store: backend.handle(), leaseMs: 3000, tool: { recovery: "retry" } },
        ),
      ),
    );
    const { taskId } = (await nodes[0]?.start()) ?? { taskId: "" };
    await clock.advance(1500);
    for (let again = 0; again < 3; again += 1) {
      upset(clock);
      await clock.advance(10_000);
    }
    expect(runs).toEqual(["a"]);
    expect(await backend.memory.get(taskId)).toMatchObject({ status: "working", attempt: { epoch: 1 } });
  });

  it("what a lost process ran is taken up when its lease would have passed, and soon after", async () => {
    const clock = new FakeClock();
    const backend = new SharedBackend(clock);
    const held = new HeldHandler();
    const open = async (handler: ToolHandler) => {
      const store = backend.handle();
      return { store, ...(await openRuntime(handler, { clock, store, leaseMs: 3000, tool: { recovery: "retry" } })) };
    };
    const dead = await open(endless);
    await open(held.handler);
    await dead.start();
    await clock.advance(1500);
    dead.store.cut = true;
    upset(clock);
    await clock.advance(900);
    expect(held.contexts).toHaveLength(0);
    // A lease that it has seen stand, and a look before and after that.
    await clock.advance(5000);
    expect(held.contexts).toHaveLength(1);
  });

  it("what a lost process ran fails as well where it may not run again, and where nobody looked before", async () => {
    const clock = new FakeClock();
    const backend = new SharedBackend(clock);
    const store = backend.handle();
    const dead = await openRuntime(endless, { clock, store, leaseMs: 3000 });
    const { taskId } = await dead.start();
    await settle();
    store.cut = true;
    upset(clock);
    const late = await openRuntime(endless, { clock, store: backend.handle(), leaseMs: 3000 });
    await clock.advance(5000);
    expect(await late.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "runner_lost" } });
  });

  it("no instant of a record comes before an earlier one", async () => {
    const held = new HeldHandler();
    const { clock, start, get } = await openRuntime(held.handler);
    const { taskId, createdAt } = await start({ ttlMs: DAY });
    await settle();
    upset(clock);
    await taskOf(held.contexts[0]).setWorking("still here");
    expect((await get(taskId))?.lastUpdatedAt).toBeGreaterThanOrEqual(createdAt);
    held.end();
    await settle();
    const ended = await get(taskId);
    expect(ended).toMatchObject({ status: "completed" });
    expect((ended as { finishedAt: number }).finishedAt).toBeGreaterThanOrEqual(createdAt);
  });

  it("a question without a limit goes on waiting, and its answer arrives", async () => {
    const { clock, start, get, runtime } = await openRuntime(async (_args, context) => ({
      kind: "result",
      result: { answer: await taskOf(context).ask({ method: "elicitation/create", params: {} }) },
    }));
    const { taskId } = await start();
    await settle();
    upset(clock);
    await clock.advance(1000);
    const key = (await get(taskId))?.questions[0]?.key ?? "";
    expect(await runtime.answer("alice", taskId, key, { yes: true })).toBe("accepted");
    await settle();
    expect(await get(taskId)).toMatchObject({ status: "completed" });
  });

  it("what had finished is kept by the time as it is now, and swept with the next sweep", async () => {
    const { clock, start, get } = await openRuntime(() => ({ kind: "result", result: {} }));
    const { taskId } = await start({ ttlMs: 2 * HOUR });
    await settle();
    const before = clock.now();
    upset(clock);
    const isKept = clock.now() - before < 2 * HOUR;
    expect((await get(taskId)) !== null).toBe(isKept);
    await clock.advance(2 * HOUR + 60_000 + Math.max(0, before - clock.now()));
    expect(await get(taskId)).toBeNull();
  });
});
