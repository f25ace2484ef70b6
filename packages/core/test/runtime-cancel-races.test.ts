import { InProcessRunner, isTerminal, type TaskRecord } from "@claimcheck/core";
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore } from "./kit/faulty-store.js";
import { text } from "./kit/records.js";
import { openRuntime, stoppable, taskOf } from "./kit/runtime.js";

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
};

/** Whoever sees a terminal status sees all of it, and never sees it become another. */
function checkSighting(task: TaskRecord, terminal: Map<string, TaskRecord>): void {
  const before = terminal.get(task.taskId);
  if (before !== undefined) expect(task).toEqual(before);
  if (!isTerminal(task)) return;
  terminal.set(task.taskId, task);
  if (task.status === "completed") expect(task.outcome).toEqual({ kind: "result", result: text("whole") });
  else expect(task).toMatchObject({ status: "cancelled", partialOutput: ["half"], cancellation: { how: "stopped" } });
}

describe("completion against cancellation", () => {
  for (const slow of ["reads", "reads and writes"] as const) {
    it(`500 races with slow ${slow}: one last write wins, and nobody sees a status without its payload`, async () => {
      const store = new FaultyStore();
      const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      store.afterRead = pause;
      if (slow === "reads and writes") store.before = ({ method }) => (method === "update" ? pause() : undefined);
      const ends = new Map<string, () => void>();
      const { runtime, start } = await openRuntime(
        async (_args, context) => {
          const task = taskOf(context);
          task.recordOutput(["half"]);
          const released = new Promise<"released">((resolve) => ends.set(task.taskId, () => resolve("released")));
          const stopped = context.cancelToken.wait();
          if ((await Promise.race([released, stopped])) === "released")
            return { kind: "result", result: text("whole") };
          throw new Error("stopped");
        },
        { store, runner: new InProcessRunner({ concurrency: 1000 }) },
      );
      const terminal = new Map<string, TaskRecord>();
      const outcomes = { completed: 0, cancelled: 0 };
      const race = async (n: number): Promise<void> => {
        const { taskId } = await start();
        runtime.subscribe(taskId, (news) => news.type === "changed" && checkSighting(news.task, terminal));
        await settle();
        const waiting = runtime.wait("alice", taskId);
        const cancelling = turns(n % 40).then(() => runtime.cancel("alice", taskId));
        const completing = turns((n * 7) % 40)
          .then(() => (n % 3 === 0 ? pause() : undefined))
          .then(() => ends.get(taskId)?.());
        const [answer, waited] = await Promise.all([cancelling, waiting, completing]);
        const read = await runtime.get("alice", taskId);
        for (const seen of [answer?.task, waited, read]) checkSighting(seen as TaskRecord, terminal);
        expect(answer?.cancelled).toBe(read?.status === "cancelled");
        outcomes[read?.status as keyof typeof outcomes] += 1;
      };
      for (let from = 0; from < 500; from += 50)
        await Promise.all(Array.from({ length: 50 }, (_, n) => race(from + n)));
      expect(outcomes.completed + outcomes.cancelled).toBe(500);
      expect(Math.min(outcomes.completed, outcomes.cancelled)).toBeGreaterThan(20);
      expect(runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
    });
  }

  it("a cancellation that comes while the result is being written does not take its place", async () => {
    const store = new FaultyStore();
    let land = (): void => {};
    const { runtime, start, clock } = await openRuntime(() => ({ kind: "result", result: text("whole") }), { store });
    store.before = ({ method }) =>
      method === "update"
        ? new Promise<void>((resolve) => {
            land = resolve;
          })
        : undefined;
    const { taskId } = await start();
    await settle();
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(500);
    store.before = () => {};
    land();
    expect(await cancelling).toMatchObject({ cancelled: false, task: { status: "completed" } });
  });

  it("a complete result that is there before the work was given up wins, though the store is slower with it", async () => {
    const store = new FaultyStore();
    const { runtime, start, clock } = await openRuntime(
      async (_args, context) => {
        await context.cancelToken.wait();
        return { kind: "result", result: text("whole") };
      },
      { store },
    );
    const { taskId } = await start();
    await settle();
    let land = (): void => {};
    store.before = ({ changes }) =>
      changes?.status === "completed"
        ? new Promise<void>((resolve) => {
            land = resolve;
          })
        : undefined;
    const cancelling = runtime.cancel("alice", taskId);
    await clock.advance(1000);
    store.before = () => {};
    land();
    expect(await cancelling).toMatchObject({ cancelled: false, task: { status: "completed" } });
  });
});

describe("two hundred cancellations at any moment", () => {
  it("leave every place free and nothing behind", async () => {
    const clock = new FakeClock();
    const store = new FaultyStore(clock);
    store.before = ({ method }) => (method === "update" ? new Promise((resolve) => setImmediate(resolve)) : undefined);
    const runner = new InProcessRunner({ concurrency: 4 });
    const { runtime, start } = await openRuntime(
      async (args, context) => {
        const asks = taskOf(context).ask({ method: "elicitation/create", params: {} });
        if (args.n === 0) await asks;
        asks.catch(() => {});
        return stoppable(args, context);
      },
      { store, clock, runner },
    );
    const cancelled = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const { taskId } = await start({ arguments: { n: n % 2 } });
        await turns(n % 60);
        if (n % 5 === 0) await settle();
        return runtime.cancel("alice", taskId);
      }),
    );
    for (const answer of cancelled) expect(answer).toMatchObject({ cancelled: true, task: { status: "cancelled" } });
    await clock.advance(20_000);
    expect(runtime.gauges).toEqual({ attempts: 0, running: 0, stillRunningAfterEnd: 0, watchedTasks: 0 });
    await Promise.all(Array.from({ length: 4 }, () => start({ arguments: { n: 1 } })));
    await settle();
    expect(runtime.gauges.running).toBe(4);
  });
});
