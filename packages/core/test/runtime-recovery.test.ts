import {
  HandedOverError,
  InProcessRunner,
  type JsonValue,
  type Outcome,
  type TaskRecord,
  type ToolContext,
  type ToolDefinition,
  type ToolHandler,
  transition,
} from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { cluster as clusterOf } from "./kit/cluster.js";
import {
  type Bench,
  type BenchOptions,
  closeSoon,
  done,
  endless,
  HeldHandler,
  newRuntime,
  stoppable,
  taskOf,
} from "./kit/runtime.js";
import type { SharedStore } from "./kit/shared-store.js";

const LEASE_MS = 3000;

const cluster = () => clusterOf({ leaseMs: LEASE_MS, cancelGraceMs: 500 });

/** Starts a task on a process that dies, and lets its lease run out. */
async function lose(
  handler: ToolHandler,
  tool: Partial<ToolDefinition>,
  survivor: ToolHandler,
  options: BenchOptions = {},
) {
  const { clock, backend, node } = cluster();
  const dead = await node(handler, { tool, ...options });
  const alive = await node(survivor, { tool, ...options });
  const { taskId } = await dead.start({ idempotencyKey: "k" });
  await settle();
  dead.store.cut = true;
  await clock.advance(LEASE_MS * 1.5);
  return { clock, backend, dead, alive, taskId };
}

describe("a task whose process is lost", () => {
  it("is recovered as soon as its lease has passed, whenever others happened to look", async () => {
    const { clock, node } = cluster();
    const alive = await node(endless);
    await clock.advance(LEASE_MS * 0.3);
    const dead = await node(endless);
    const { taskId } = await dead.start({});
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS - 1);
    expect(await alive.get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(LEASE_MS / 60);
    expect(await alive.get(taskId)).toMatchObject({ status: "failed" });
  });

  it("fails by default: with the reason, its output kept, its questions withdrawn, and it is not run again", async () => {
    const again = new HeldHandler();
    const { alive, taskId } = await lose(
      async (_args, context) => {
        taskOf(context).recordOutput(["half"]);
        await taskOf(context).ask({ method: "elicitation/create", params: {} });
        return { kind: "result", result: {} };
      },
      {},
      again.handler,
    );
    expect(await alive.get(taskId)).toMatchObject({
      status: "failed",
      outcome: { kind: "threw", reason: "runner_lost" },
      statusMessage: expect.stringContaining("lost"),
      partialOutput: ["half"],
      questions: [{ withdrawnAt: expect.any(Number) }],
    });
    expect(again.contexts).toHaveLength(0);
    expect((await alive.start({ idempotencyKey: "k" })).taskId).toBe(taskId);
  });

  it("wakes whoever waits for it", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless);
    const alive = await node(endless);
    const { taskId } = await dead.start();
    const waiting = alive.runtime.wait("alice", taskId);
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    expect(await waiting).toMatchObject({ status: "failed" });
  });

  it("is not given up a moment before its lease has passed", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless);
    const alive = await node(endless);
    const { taskId } = await dead.start();
    dead.store.cut = true;
    await clock.advance(LEASE_MS - 1);
    expect(await alive.get(taskId)).toMatchObject({ status: "working" });
  });

  it("whose tool may be run again is, under the next epoch, and what the lost one still says counts for nothing", async () => {
    const zombie = new HeldHandler();
    const again = new HeldHandler();
    const { clock, dead, alive, taskId } = await lose(zombie.handler, { recovery: "retry" }, again.handler);
    expect(again.contexts).toHaveLength(1);
    expect(await alive.get(taskId)).toMatchObject({
      status: "working",
      attempt: { epoch: 2, tries: 2, runnerId: alive.runtime.runnerId },
    });
    expect(zombie.contexts[0]?.signal.aborted).toBe(true);
    dead.store.cut = false;
    taskOf(zombie.contexts[0]).recordOutput(["zombie"]);
    expect(await taskOf(zombie.contexts[0]).setWorking("zombie")).toBe(false);
    zombie.end();
    await clock.advance(2000);
    expect(await alive.get(taskId)).toMatchObject({ status: "working" });
    expect(await alive.get(taskId)).not.toHaveProperty("partialOutput");
    again.end();
    await settle();
    expect(await dead.get(taskId)).toMatchObject({ status: "completed", attempt: { epoch: 2 } });
    expect(dead.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("is run again a bounded number of times, all told", async () => {
    const { clock, backend, node } = cluster();
    let runs = 0;
    const count: ToolHandler = () => {
      runs += 1;
      return new Promise(() => {});
    };
    const nodes = await Promise.all(
      Array.from({ length: 4 }, () => node(count, { tool: { recovery: "retry" }, maxTries: 3 })),
    );
    const { taskId } = await (nodes[0] as Bench).start();
    await settle();
    for (let round = 0; round < 4; round += 1) {
      const record = await backend.memory.get(taskId);
      const runner = record?.attempt.state === "leased" ? record.attempt.runnerId : undefined;
      for (const { runtime, store } of nodes) if (runtime.runnerId === runner) store.cut = true;
      await clock.advance(LEASE_MS * 2);
    }
    expect(runs).toBe(3);
    expect(await backend.memory.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "runner_lost" } });
  });

  it("is not run again when its runner, late, began it after all while it was being taken up", async () => {
    const { clock, backend, node } = cluster();
    const dead = await node(endless, { runner: new InProcessRunner({ concurrency: 1 }) });
    const again = new HeldHandler();
    const alive = await node(again.handler);
    await dead.start();
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    const update = alive.store.update.bind(alive.store);
    let isLate = false;
    alive.store.update = async (id, version, changes) => {
      if (id === taskId && !isLate) {
        isLate = true;
        const task = (await backend.memory.get(id)) as TaskRecord;
        const start = { type: "start", epoch: 1, leaseUntilAt: clock.now() - 1 } as const;
        const decided = transition(task, start, clock.now());
        if ("changes" in decided) await backend.memory.update(id, task.version, decided.changes);
      }
      return update(id, version, changes);
    };
    await clock.advance(LEASE_MS * 3);
    expect(isLate).toBe(true);
    expect(again.contexts).toHaveLength(0);
    expect(await alive.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "runner_lost" } });
  });

  it("that never started is run, whatever its policy, and that does not count as a try", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless, { runner: new InProcessRunner({ concurrency: 1 }) });
    const held = new HeldHandler();
    const alive = await node(held.handler);
    const running = await dead.start();
    const queued = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    expect(held.contexts.map(({ task }) => task?.taskId)).toEqual([queued.taskId]);
    expect(await alive.get(queued.taskId)).toMatchObject({ attempt: { tries: 1, epoch: 2 } });
    expect(await alive.get(running.taskId)).toMatchObject({ status: "failed" });
    held.end();
    await settle();
    expect(await alive.get(queued.taskId)).toMatchObject({ status: "completed" });
  });

  it("that was being cancelled ends as cancelled, and is not run again", async () => {
    const { clock, node } = cluster();
    const tool = { recovery: "retry" as const };
    const dead = await node(endless, { tool, cancelGraceMs: 10 ** 6 });
    const again = new HeldHandler();
    const alive = await node(again.handler, { tool });
    const { taskId } = await dead.start();
    await settle();
    dead.runtime.cancel("alice", taskId).catch(() => {});
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    expect(await alive.get(taskId)).toMatchObject({ status: "cancelled", cancellation: { how: "still_running" } });
    expect(again.contexts).toHaveLength(0);
  });

  it("hears at once what was answered between its being resumed and its asking again", async () => {
    const request = { method: "elicitation/create", params: { n: 1 } };
    const { clock, node } = cluster();
    let goOn: () => void = () => {};
    const tool: Partial<ToolDefinition> = {
      handler: async (_args, context) => ({ kind: "result", result: await taskOf(context).ask(request) }),
      recovery: {
        resume: async (_args, context) => {
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
          return { kind: "result", result: await taskOf(context).ask(request) };
        },
      },
    };
    const dead = await node(endless, { tool });
    const alive = await node(endless, { tool });
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    const key = (await alive.get(taskId))?.questions[0]?.key ?? "";
    expect(await alive.runtime.answer("alice", taskId, key, { a: 1 })).toBe("accepted");
    // Every process has heard of the answer.
    await settle();
    goOn();
    await settle();
    expect(await alive.get(taskId)).toMatchObject({ status: "completed", outcome: { result: { a: 1 } } });
  });

  it("is resumed from its checkpoint, and asks nobody twice what has been answered or is still open", async () => {
    const asked: unknown[] = [];
    const work = async (context: ToolContext, checkpoint: JsonValue | undefined): Promise<Outcome> => {
      const task = taskOf(context);
      const first = await task.ask({ method: "elicitation/create", params: { n: 1 } });
      if (checkpoint === undefined) await task.checkpoint({ first });
      asked.push(checkpoint, first);
      const second = await task.ask({ method: "elicitation/create", params: { n: 2 } });
      return { kind: "result", result: { first, second } };
    };
    const { clock, node } = cluster();
    const tool: Partial<ToolDefinition> = {
      handler: (_args, context) => work(context, undefined),
      recovery: { resume: (_args, context, checkpoint) => work(context, checkpoint) },
    };
    const dead = await node(endless, { tool });
    const alive = await node(endless, { tool });
    const { taskId } = await dead.start();
    await settle();
    const keyOf = async (n: number): Promise<string> => (await alive.get(taskId))?.questions[n]?.key ?? "";
    await alive.runtime.answer("alice", taskId, await keyOf(0), { a: 1 });
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    expect(asked).toEqual([undefined, { a: 1 }, { first: { a: 1 } }, { a: 1 }]);
    const record = await alive.get(taskId);
    expect(record).toMatchObject({ status: "input_required", attempt: { epoch: 2 } });
    expect(record?.questions).toHaveLength(2);
    expect(await alive.runtime.answer("alice", taskId, await keyOf(0), { a: 9 })).toBe("ignored");
    expect(await alive.runtime.answer("alice", taskId, await keyOf(1), { a: 2 })).toBe("accepted");
    await settle();
    expect(await alive.get(taskId)).toMatchObject({
      status: "completed",
      outcome: { result: { first: { a: 1 }, second: { a: 2 } } },
    });
  });

  it("that nobody here knows the tool of is left to whoever does", async () => {
    const { clock, node } = cluster();
    const tool = { recovery: "retry" as const };
    const dead = await node(endless, { tool });
    const stranger = await node(endless, { tool: null });
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 3);
    expect(await stranger.get(taskId)).toMatchObject({ status: "working" });
    const knows = await node(done, { tool });
    await settle();
    expect(await knows.get(taskId)).toMatchObject({ status: "completed" });
  });

  it("that nobody has known the tool of for long fails, and says so", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless, { runner: new InProcessRunner({ concurrency: 1 }) });
    const stranger = await node(done, { tool: null, unknownToolMs: 60_000 });
    stranger.runtime.define({ name: "other", handler: done });
    await dead.start();
    const queued = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS + 59_000);
    expect(await stranger.get(queued.taskId)).toMatchObject({ status: "working" });
    expect(await stranger.start({ toolName: "other" })).toMatchObject({ status: "working" });
    await clock.advance(3000);
    expect(await stranger.get(queued.taskId)).toMatchObject({
      status: "failed",
      outcome: { reason: "unknown_tool" },
      statusMessage: expect.stringContaining('"work"'),
    });
  });

  it("that was handed over and is of a tool that nobody knows fails as well", async () => {
    const { clock, node } = cluster();
    const tool = { recovery: "retry" as const };
    const leaving = await node(stoppable, { tool });
    const { taskId } = await leaving.start();
    await settle();
    await closeSoon(leaving);
    const stranger = await node(done, { tool: null, unknownToolMs: 60_000 });
    await clock.advance(60_000 + LEASE_MS);
    expect(await stranger.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "unknown_tool" } });
  });

  it("whose policy has become fail is not run again", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless, { tool: { recovery: "retry" } });
    const again = new HeldHandler();
    const alive = await node(again.handler);
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 1.5);
    expect(await alive.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "runner_lost" } });
    expect(again.contexts).toHaveLength(0);
  });

  it("tells its clients that it is run again, and which try it is", async () => {
    const { alive, taskId } = await lose(endless, { recovery: "retry" }, endless);
    expect(await alive.get(taskId)).toMatchObject({
      status: "working",
      statusMessage: expect.stringMatching(/lost.*try 2 of 3/),
    });
  });

  it("may run no longer than its limit in all attempts together", async () => {
    const tool = { recovery: "retry" as const, maxRunMs: 10_000 };
    const { clock, alive, taskId } = await lose(stoppable, tool, stoppable);
    // It ran for its lease, of which the last renewal that was written knows.
    const { attempt } = (await alive.get(taskId)) ?? {};
    const ranMs = (attempt as { ranMs?: number }).ranMs ?? 0;
    await clock.advance(10_000 - ranMs - LEASE_MS);
    expect(await alive.get(taskId)).toMatchObject({ status: "working" });
    await clock.advance(LEASE_MS);
    expect(await alive.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "run_time_exceeded" } });
  });

  it("is found by a process that starts later, at once", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless);
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    await clock.advance(LEASE_MS * 10);
    const late = await node(endless);
    await settle();
    expect(await late.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "runner_lost" } });
  });

  it("is taken up by one of many, and never by two at a time", async () => {
    const { clock, node } = cluster();
    let running = 0;
    let most = 0;
    const exclusive: ToolHandler = async (_args, context) => {
      running += 1;
      most = Math.max(most, running);
      await context.cancelToken.wait();
      running -= 1;
      throw new Error("stopped");
    };
    const tool = { recovery: "retry" as const };
    const nodes = await Promise.all(Array.from({ length: 4 }, () => node(exclusive, { tool, maxTries: 1000 })));
    await (nodes[0] as Bench).start();
    await settle();
    for (let round = 0; round < 30; round += 1) {
      for (const [n, { store }] of nodes.entries()) store.cut = n === round % 4;
      await clock.advance(LEASE_MS - 5 + (round % 11));
    }
    expect(most).toBe(1);
  });
});

describe("a task whose lease passes from process to process", () => {
  it("300 times, at instants of every kind: never runs in two of them, and no try is counted twice", async () => {
    const { clock, backend, node } = cluster();
    let running = 0;
    let most = 0;
    let runs = 0;
    const exclusive: ToolHandler = async (_args, context) => {
      running += 1;
      runs += 1;
      most = Math.max(most, running);
      await context.cancelToken.wait();
      running -= 1;
      throw new Error("stopped");
    };
    const tool = { recovery: { retry: { tries: 10_000 } } };
    const nodes: (Bench & { store: SharedStore })[] = [];
    // Their rounds of renewing and looking come at different instants.
    for (const lateMs of [0, 170, 410, 730]) {
      await clock.advance(lateMs);
      nodes.push(await node(exclusive, { tool }));
    }
    const { taskId } = await (nodes[0] as Bench).start();
    for (let round = 0; round < 300; round += 1) {
      const { attempt } = (await backend.memory.get(taskId)) ?? {};
      const runner = attempt?.state === "leased" ? attempt.runnerId : undefined;
      for (const { runtime, store } of nodes) store.cut = runtime.runnerId === runner;
      await clock.advance(LEASE_MS + ((round * 37) % 1200) - 3);
      for (const { store } of nodes) store.cut = false;
      await clock.advance((round * 53) % 700);
    }
    expect(most).toBe(1);
    expect(runs).toBeGreaterThan(200);
    expect(await backend.memory.get(taskId)).toMatchObject({ status: "working", attempt: { tries: runs } });
  });
});

describe("a lease whose store is slow", () => {
  it("is renewed all the same while its tool has something to say without a pause", async () => {
    const { clock, node } = cluster();
    const alive = await node(endless);
    const chatty = await node(async (_args, context) => {
      for (let step = 0; await taskOf(context).checkpoint(step); step += 1);
      return { kind: "result", result: {} };
    });
    const { store, start, log } = chatty;
    const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
      await new Promise((resolve) => clock.setTimer(() => resolve(undefined), LEASE_MS / 30));
      return await work();
    };
    const [get, update] = [store.get.bind(store), store.update.bind(store)];
    store.get = (taskId) => slowly(() => get(taskId));
    store.update = (...change) => slowly(() => update(...change));
    const { taskId } = await start({});
    await clock.advance(5 * LEASE_MS);
    expect(log.lines).toEqual([]);
    expect(await alive.get(taskId)).toMatchObject({ status: "working", attempt: { epoch: 1 } });
  });
});

describe("a runner that is cut off", () => {
  it("stops its work when its lease passes, since another may have taken it up", async () => {
    const { clock, node } = cluster();
    let interrupted = 0;
    const cut = await node((args, context) => {
      taskOf(context).registerInterrupt(() => {
        interrupted += 1;
      });
      return stoppable(args, context);
    });
    await cut.start();
    await settle();
    cut.store.cut = true;
    await clock.advance(LEASE_MS - 1);
    expect(interrupted).toBe(0);
    await clock.advance(LEASE_MS / 3);
    expect(interrupted).toBe(1);
    expect(cut.log.errors()).toContainEqual(expect.objectContaining({ message: expect.stringContaining("lease") }));
    expect(cut.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("for less than its lease loses nothing", async () => {
    const { clock, node } = cluster();
    const held = new HeldHandler();
    const shaky = await node(held.handler);
    await node(endless);
    const { taskId } = await shaky.start();
    await settle();
    for (let hiccup = 0; hiccup < 5; hiccup += 1) {
      shaky.store.cut = true;
      await clock.advance(1500);
      shaky.store.cut = false;
      await clock.advance(1500);
    }
    held.end();
    await settle();
    expect(await shaky.get(taskId)).toMatchObject({ status: "completed", attempt: { epoch: 1 } });
  });

  it("when it has the outcome already, writes it if nobody took the task up meanwhile", async () => {
    const { clock, node } = cluster();
    const held = new HeldHandler();
    const shaky = await node(held.handler);
    const { taskId } = await shaky.start();
    await settle();
    shaky.store.cut = true;
    held.end();
    await clock.advance(LEASE_MS * 3);
    shaky.store.cut = false;
    await clock.advance(10_000);
    expect(await shaky.get(taskId)).toMatchObject({ status: "completed" });
  });
});

describe("a machine that slept", () => {
  it("lets its processes renew before any of them takes up what another runs", async () => {
    const { clock, node } = cluster();
    const held = new HeldHandler();
    // It wakes first.
    const other = await node(endless);
    const one = await node(held.handler);
    const { taskId } = await one.start();
    await settle();
    for (let nap = 0; nap < 5; nap += 1) {
      clock.sleep(8 * 3_600_000);
      await clock.advance(LEASE_MS);
    }
    expect(await other.get(taskId)).toMatchObject({ status: "working", attempt: { epoch: 1 } });
    held.end();
    await settle();
    expect(await other.get(taskId)).toMatchObject({ status: "completed" });
  });
});

describe("handing over at shutdown", () => {
  async function shutDown(recovery: "fail" | "retry", handler: ToolHandler) {
    const { clock, backend, node } = cluster();
    const leaving = newRuntime(handler, {
      clock,
      store: backend.handle(),
      leaseMs: LEASE_MS,
      cancelGraceMs: 500,
      tool: { recovery },
    });
    await leaving.runtime.open();
    const { taskId } = await leaving.start();
    await settle();
    await closeSoon(leaving);
    const held = new HeldHandler();
    const taking = await node(held.handler, { tool: { recovery } });
    await settle();
    return { taking, held, taskId, clock };
  }

  it("gives a task that may run again to whoever comes, without counting it as a failed try", async () => {
    const { taking, held, taskId } = await shutDown("retry", stoppable);
    expect(held.contexts).toHaveLength(1);
    expect(await taking.get(taskId)).toMatchObject({ attempt: { epoch: 2, tries: 1 } });
    held.end();
  });

  it("fails one that may not", async () => {
    const { taking, held, taskId } = await shutDown("fail", stoppable);
    expect(held.contexts).toHaveLength(0);
    expect(await taking.get(taskId)).toMatchObject({ status: "failed", outcome: { reason: "shutdown" } });
  });

  it("does not give away work that would not stop: its lease is left to run out", async () => {
    const { clock, backend, node } = cluster();
    const tool = { recovery: "retry" as const };
    const leaving = newRuntime(endless, {
      clock,
      store: backend.handle(),
      leaseMs: LEASE_MS,
      cancelGraceMs: 500,
      tool,
    });
    await leaving.runtime.open();
    const { taskId } = await leaving.start();
    await settle();
    const closing = leaving.runtime.close();
    await clock.advance(600);
    await closing;
    const held = new HeldHandler();
    const taking = await node(held.handler, { tool });
    await clock.advance(LEASE_MS - 700);
    expect(held.contexts).toHaveLength(0);
    await clock.advance(LEASE_MS);
    expect(held.contexts).toHaveLength(1);
    expect(await taking.get(taskId)).toMatchObject({ attempt: { epoch: 2 } });
    held.end();
  });

  it("a task that nobody has taken up yet can be cancelled, and is taken up by nobody then", async () => {
    const { clock, node } = cluster();
    const tool = { recovery: "retry" as const };
    const leaving = await node(stoppable, { tool });
    const { taskId } = await leaving.start();
    await settle();
    await closeSoon(leaving);
    const stranger = await node(done, { tool: null });
    const cancelling = stranger.runtime.cancel("alice", taskId);
    expect(await cancelling).toMatchObject({ task: { status: "cancelled", cancellation: { how: "stopped" } } });
    const held = new HeldHandler();
    await node(held.handler, { tool });
    await clock.advance(LEASE_MS * 3);
    expect(held.contexts).toHaveLength(0);
  });

  it("keeps what the work has produced, and says that it goes on", async () => {
    const { backend, node } = cluster();
    const tool = { recovery: "retry" as const };
    const leaving = await node(
      (args, context) => {
        taskOf(context).recordOutput(["half"]);
        return stoppable(args, context);
      },
      { tool },
    );
    const { taskId } = await leaving.start();
    const closing = leaving.runtime.close();
    await settle();
    await closing;
    expect(await backend.memory.get(taskId)).toMatchObject({
      status: "working",
      partialOutput: ["half"],
      statusMessage: expect.stringContaining("goes on"),
      attempt: { state: "queued" },
    });
  });

  it("stops no work that is resumed elsewhere: it is let go of, and told so", async () => {
    const { node } = cluster();
    let interrupted = 0;
    const reasons: unknown[] = [];
    const checkpoints: unknown[] = [];
    const handler: ToolHandler = async (_args, context) => {
      await taskOf(context).checkpoint({ at: 7 });
      taskOf(context).registerInterrupt(() => {
        interrupted += 1;
      });
      await context.cancelToken.wait();
      reasons.push(context.signal.reason);
      throw context.signal.reason;
    };
    const tool: Partial<ToolDefinition> = {
      recovery: {
        resume: (_args, _context, checkpoint) => {
          checkpoints.push(checkpoint);
          return { kind: "result", result: {} };
        },
      },
    };
    const leaving = await node(handler, { tool });
    const { taskId } = await leaving.start();
    await settle();
    await closeSoon(leaving);
    expect(reasons).toEqual([expect.any(HandedOverError)]);
    const taking = await node(handler, { tool });
    await settle();
    expect(await taking.get(taskId)).toMatchObject({ status: "completed", attempt: { epoch: 2, tries: 1 } });
    expect(checkpoints).toEqual([{ at: 7 }]);
    expect(interrupted).toBe(0);
  });

  it("cancelling still stops the work of a tool that resumes", async () => {
    const { node } = cluster();
    let interrupted = 0;
    const handler: ToolHandler = (args, context) => {
      taskOf(context).registerInterrupt(() => {
        interrupted += 1;
      });
      return stoppable(args, context);
    };
    const tool: Partial<ToolDefinition> = { recovery: { resume: stoppable } };
    const bench = await node(handler, { tool });
    const { taskId } = await bench.start();
    await settle();
    await bench.runtime.cancel("alice", taskId);
    expect(interrupted).toBe(1);
  });

  it("leaves a result that wins the race where it is", async () => {
    const { taking, held, taskId } = await shutDown("retry", async (_args, context) => {
      await context.cancelToken.wait();
      return { kind: "result", result: { whole: true } };
    });
    expect(held.contexts).toHaveLength(0);
    expect(await taking.get(taskId)).toMatchObject({ status: "completed", outcome: { result: { whole: true } } });
  });
});

describe("looking for lost tasks", () => {
  it("goes on after a look that failed, and is not stopped by one task that cannot be recovered", async () => {
    const { clock, node } = cluster();
    const dead = await node(endless);
    const alive = await node(endless);
    const first = await dead.start();
    const second = await dead.start();
    await settle();
    dead.store.cut = true;
    const update = alive.store.update.bind(alive.store);
    alive.store.update = async (taskId, ...rest) => {
      if (taskId === second.taskId) throw new Error("this one is broken");
      return update(taskId, ...rest);
    };
    alive.store.cut = true;
    await clock.advance(LEASE_MS);
    alive.store.cut = false;
    await clock.advance(LEASE_MS);
    expect(await alive.get(first.taskId)).toMatchObject({ status: "failed" });
    expect(await alive.get(second.taskId)).toMatchObject({ status: "working" });
    expect(alive.log.lines.map(({ message }) => message)).toContain("lost tasks could not be looked for; trying again");
    alive.store.update = update;
    await clock.advance(LEASE_MS);
    expect(await alive.get(second.taskId)).toMatchObject({ status: "failed" });
  });
});
