/** What a tool takes and gives back itself: the engine lets every handler settle, once, whatever ends its task. */
import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { FaultyStore, outage } from "./kit/faulty-store.js";
import { type Bench, type BenchOptions, newRuntime } from "./kit/runtime.js";
import { SharedBackend } from "./kit/shared-store.js";

interface Exit {
  how: string;
  options?: () => BenchOptions;
  /** What the handler does once it has what it needs. Default: waits to be told to stop. */
  work?: () => unknown;
  end?: (bench: Bench, taskId: string) => unknown;
}

const EXITS: Exit[] = [
  { how: "returns", work: () => "done" },
  {
    how: "throws",
    work: () => {
      throw new Error("no");
    },
  },
  { how: "is cancelled", end: ({ runtime }, taskId) => runtime.cancel("alice", taskId) },
  { how: "runs for too long", options: () => ({ tool: { maxRunMs: 1000 } }), end: ({ clock }) => clock.advance(1000) },
  { how: "is ended by a shutdown", end: ({ runtime }) => runtime.close() },
  {
    how: "is handed over",
    options: () => {
      const clock = new FakeClock();
      return { clock, store: new SharedBackend(clock).handle(), tool: { recovery: "retry" } };
    },
    end: ({ runtime }) => runtime.close(),
  },
  {
    how: "brings what cannot be stored",
    options: () => {
      const store = new FaultyStore();
      store.before = ({ changes }) => (changes?.outcome === undefined ? undefined : outage());
      return { store, storeTimeoutMs: 100 };
    },
    work: () => "done",
  },
];

describe("what a handler has taken", () => {
  it.each(EXITS)("is given back once, after it has stopped, when it $how", async ({ options, work, end }) => {
    let held = 0;
    let givenBack = 0;
    let isWorking = false;
    const bench = newRuntime(async (_args, context) => {
      held += 1;
      isWorking = true;
      try {
        if (work !== undefined) work();
        else await context.cancelToken.wait();
        await settle();
        isWorking = false;
        context.cancelToken.checkCancelled();
        return { kind: "result", result: {} };
      } finally {
        isWorking = false;
        givenBack += 1;
        held -= 1;
      }
    }, options?.() ?? {});
    await bench.runtime.open();
    const { taskId } = await bench.start();
    await settle();
    void Promise.resolve(end?.(bench, taskId)).catch(() => {});
    await bench.clock.advance(1000);
    expect([held, givenBack, isWorking]).toEqual([0, 1, false]);
    const closing = bench.runtime.close().catch(() => {});
    await bench.clock.advance(120_000);
    await closing;
    expect([held, givenBack]).toEqual([0, 1]);
    expect(bench.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("is given back by a handler whose setting up failed, and its task says why", async () => {
    const bench = newRuntime(async () => {
      throw new Error("nothing to be had");
    });
    await bench.runtime.open();
    const { taskId } = await bench.start();
    await settle();
    expect(await bench.get(taskId)).toMatchObject({ status: "failed", outcome: { message: "nothing to be had" } });
    expect(bench.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
    await bench.runtime.close();
  });
});
