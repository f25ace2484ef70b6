/** Cancelling work that goes on outside its process, when that process is gone: its tool's `resume` is what stops it. */
import {
  InProcessRunner,
  type JsonValue,
  type Outcome,
  type ToolContext,
  type ToolDefinition,
  type ToolHandler,
} from "@claimcheck/core";
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { cluster } from "./kit/cluster.js";
import { type Bench, type BenchOptions, closeSoon, endless, stoppable, taskOf } from "./kit/runtime.js";
import type { SharedStore } from "./kit/shared-store.js";

const LEASE_MS = 3000;
const GRACE_MS = 500;
const POLL_MS = 1000;

/** Jobs that run whatever becomes of the processes that began them, as a kernel's cells do. */
class Farm {
  readonly jobs = new Map<
    string,
    { state: "running" | "stopped" | "done"; settled: () => void; ended: Promise<void> }
  >();
  /** Of each call of `resume`. */
  readonly resumed: { checkpoint: JsonValue | undefined; isCancelled: boolean; reason: unknown }[] = [];
  /** Whether jobs heed being stopped. */
  isDeaf = false;

  start(job: string): void {
    let settled: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      settled = resolve;
    });
    this.jobs.set(job, { state: "running", settled, ended });
  }

  end(job: string, state: "stopped" | "done"): void {
    const ending = this.jobs.get(job);
    if (ending === undefined || ending.state !== "running") return;
    ending.state = state;
    ending.settled();
  }

  stateOf(job: string): string | undefined {
    return this.jobs.get(job)?.state;
  }

  get tool(): Partial<ToolDefinition> {
    return {
      handler: async (args, context) => {
        const job = String(args.job ?? "job");
        this.start(job);
        await taskOf(context).checkpoint(job);
        return await this.#follow(job, context);
      },
      recovery: {
        resume: (_args, context, checkpoint) => {
          const { cancelToken, signal } = context;
          this.resumed.push({ checkpoint, isCancelled: cancelToken.isCancelled(), reason: signal.reason });
          return this.#follow(String(checkpoint), context);
        },
      },
    };
  }

  async #follow(job: string, context: ToolContext): Promise<Outcome> {
    taskOf(context).recordOutput([`${job} so far`]);
    taskOf(context).registerInterrupt(() => {
      if (!this.isDeaf) this.end(job, "stopped");
    });
    await this.jobs.get(job)?.ended;
    if (this.stateOf(job) === "stopped") context.cancelToken.checkCancelled();
    return { kind: "result", result: { whole: job } };
  }
}

class FarmCluster {
  readonly farm = new Farm();
  readonly #processes = cluster({ leaseMs: LEASE_MS, cancelGraceMs: GRACE_MS, pollIntervalMs: POLL_MS });
  readonly clock = this.#processes.clock;

  node(options: BenchOptions = {}): Promise<Bench & { store: SharedStore }> {
    const tool = options.tool === null ? null : { ...this.farm.tool, ...options.tool };
    return this.#processes.node(endless, { ...options, tool });
  }

  /** A task that runs on a process which is lost then. */
  async lost(options: BenchOptions = {}): Promise<{ dead: Bench & { store: SharedStore }; taskId: string }> {
    const dead = await this.node(options);
    const { taskId } = await dead.start();
    await settle();
    dead.store.cut = true;
    return { dead, taskId };
  }
}

const STOPPED = { status: "cancelled", cancellation: { how: "stopped" }, partialOutput: ["job so far"] };
const UNSTOPPED = { status: "cancelled", cancellation: { how: "still_running" }, partialOutput: ["job so far"] };

describe("cancelling a task whose process is lost", () => {
  it("has the tool's resume stop the work, with the last checkpoint and a context that is cancelled already", async () => {
    const cluster = new FarmCluster();
    const { farm, clock } = cluster;
    const { taskId } = await cluster.lost();
    const alive = await cluster.node();
    const cancelling = alive.runtime.cancel("alice", taskId);
    await clock.advance(LEASE_MS * 1.1);
    expect(await cancelling).toMatchObject({ cancelled: true, task: STOPPED });
    expect(farm.stateOf("job")).toBe("stopped");
    expect(farm.resumed).toEqual([
      { checkpoint: "job", isCancelled: true, reason: expect.objectContaining({ name: "CancelledError" }) },
    ]);
    expect(alive.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("stops the work as well where the process was lost in the middle of cancelling, with nobody who waits", async () => {
    const cluster = new FarmCluster();
    const { farm, clock } = cluster;
    const dead = await cluster.node();
    farm.isDeaf = true;
    const { taskId } = await dead.start();
    await settle();
    void dead.runtime.cancel("alice", taskId);
    await settle();
    dead.store.cut = true;
    farm.isDeaf = false;
    const alive = await cluster.node();
    await clock.advance(LEASE_MS * 1.1);
    expect(await alive.get(taskId)).toMatchObject(STOPPED);
    expect(farm.stateOf("job")).toBe("stopped");
  });

  it("tells clients meanwhile what is being done", async () => {
    const cluster = new FarmCluster();
    cluster.farm.isDeaf = true;
    const { taskId } = await cluster.lost();
    const alive = await cluster.node();
    void alive.runtime.cancel("alice", taskId);
    await cluster.clock.advance(LEASE_MS + GRACE_MS / 2);
    expect(await alive.get(taskId)).toMatchObject({
      status: "working",
      statusMessage: expect.stringContaining("another stops what it left"),
      attempt: { epoch: 2, tries: 2 },
    });
    await cluster.clock.advance(GRACE_MS);
  });

  it("says that the work may go on where it does not stop within its grace", async () => {
    const cluster = new FarmCluster();
    cluster.farm.isDeaf = true;
    const { taskId } = await cluster.lost();
    const alive = await cluster.node();
    const cancelling = alive.runtime.cancel("alice", taskId);
    await cluster.clock.advance(LEASE_MS * 1.1 + 2 * GRACE_MS);
    expect(await cancelling).toMatchObject({ task: UNSTOPPED });
    expect(cluster.farm.resumed).toHaveLength(1);
    cluster.farm.end("job", "done");
    await settle();
    expect(alive.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
  });

  it("leaves a complete result that the work has come to by itself where it is", async () => {
    const cluster = new FarmCluster();
    const { taskId } = await cluster.lost();
    cluster.farm.end("job", "done");
    const alive = await cluster.node();
    const cancelling = alive.runtime.cancel("alice", taskId);
    await cluster.clock.advance(LEASE_MS * 1.1);
    expect(await cancelling).toMatchObject({
      cancelled: false,
      task: { status: "completed", outcome: { result: { whole: "job" } } },
    });
  });

  it("waits for no turn: a runner that is full is passed by", async () => {
    const cluster = new FarmCluster();
    const { farm, clock } = cluster;
    const { taskId } = await cluster.lost();
    const full = await cluster.node({ runner: new InProcessRunner({ concurrency: 1 }) });
    const other = await full.start({ arguments: { job: "other" } });
    void full.runtime.cancel("alice", taskId);
    await clock.advance(LEASE_MS * 1.1);
    expect(await full.get(taskId)).toMatchObject(STOPPED);
    expect(await full.get(other.taskId)).toMatchObject({ status: "working" });
    farm.end("other", "done");
    await settle();
    expect(await full.start({ arguments: { job: "next" } })).toMatchObject({
      attempt: { startedAt: expect.any(Number) },
    });
  });

  it("that has been taken up and waits for its turn stops the work all the same, from wherever it is cancelled", async () => {
    for (const from of ["here", "elsewhere"]) {
      const cluster = new FarmCluster();
      const { farm, clock } = cluster;
      const full = await cluster.node({ runner: new InProcessRunner({ concurrency: 1 }) });
      await full.start({ arguments: { job: "other" } });
      const { taskId } = await cluster.lost();
      await clock.advance(LEASE_MS * 1.1);
      expect(farm.resumed).toEqual([]);
      expect(await full.get(taskId)).toMatchObject({ attempt: { epoch: 2, runnerId: full.runtime.runnerId } });
      const canceller = from === "here" ? full : await cluster.node();
      const cancelling = canceller.runtime.cancel("alice", taskId);
      await settle();
      expect(await cancelling).toMatchObject({ task: STOPPED });
      expect(farm.resumed).toMatchObject([{ isCancelled: true }]);
      farm.end("other", "done");
      await settle();
      expect(farm.resumed).toHaveLength(1);
      expect(full.runtime.gauges).toMatchObject({ attempts: 0, running: 0 });
    }
  });

  it("that is being resumed interrupts it, as it would the first run", async () => {
    const cluster = new FarmCluster();
    const { taskId } = await cluster.lost();
    const alive = await cluster.node();
    await cluster.clock.advance(LEASE_MS * 1.1);
    expect(cluster.farm.resumed).toMatchObject([{ isCancelled: false }]);
    const cancelling = alive.runtime.cancel("alice", taskId);
    await settle();
    expect(await cancelling).toMatchObject({ task: STOPPED });
    expect(cluster.farm.resumed).toHaveLength(1);
  });

  it("is gone on with by the next process where the one that stopped it is lost too", async () => {
    const cluster = new FarmCluster();
    cluster.farm.isDeaf = true;
    const { taskId } = await cluster.lost();
    const second = await cluster.node();
    void second.runtime.cancel("alice", taskId).catch(() => {});
    await cluster.clock.advance(LEASE_MS * 1.05);
    expect(cluster.farm.resumed).toHaveLength(1);
    second.store.cut = true;
    cluster.farm.isDeaf = false;
    const third = await cluster.node();
    await cluster.clock.advance(LEASE_MS * 1.5);
    expect(await third.get(taskId)).toMatchObject({ ...STOPPED, attempt: { epoch: 3, tries: 3 } });
  });

  it("ends it as one that may still run where its tries are used up", async () => {
    const cluster = new FarmCluster();
    const tool = { recovery: { ...(cluster.farm.tool.recovery as object), tries: 1 } as ToolDefinition["recovery"] };
    const { taskId } = await cluster.lost({ tool: tool as Partial<ToolDefinition> });
    const alive = await cluster.node({ tool: tool as Partial<ToolDefinition> });
    void alive.runtime.cancel("alice", taskId);
    await cluster.clock.advance(LEASE_MS * 1.1);
    expect(await alive.get(taskId)).toMatchObject(UNSTOPPED);
    expect(cluster.farm.resumed).toEqual([]);
  });

  it.each(["retry", "fail"] as const)(
    "ends it as one that may still run where its tool has become one to %s",
    async (recovery) => {
      const cluster = new FarmCluster();
      const { taskId } = await cluster.lost();
      const alive = await cluster.node({ tool: { recovery } });
      void alive.runtime.cancel("alice", taskId);
      await cluster.clock.advance(LEASE_MS * 1.1);
      expect(await alive.get(taskId)).toMatchObject(UNSTOPPED);
    },
  );

  it("is answered in bounded time where nobody knows the tool", async () => {
    const cluster = new FarmCluster();
    const { taskId } = await cluster.lost();
    const stranger = await cluster.node({ tool: null });
    const cancelling = stranger.runtime.cancel("alice", taskId);
    // Its lease, a look of whoever might take it up, and what stopping takes.
    await cluster.clock.advance(LEASE_MS * 1.5 + 2 * (GRACE_MS + POLL_MS));
    expect(await cancelling).toMatchObject({ task: UNSTOPPED });
  });
});

describe("cancelling a task that was handed over", () => {
  async function handedOver(): Promise<{ cluster: FarmCluster; taskId: string }> {
    const cluster = new FarmCluster();
    const { farm } = cluster;
    // Let go of, the work goes on.
    const handler: ToolHandler = async (_args, context) => {
      farm.start("job");
      await taskOf(context).checkpoint("job");
      taskOf(context).recordOutput(["job so far"]);
      return await stoppable({}, context);
    };
    const leaving = await cluster.node({ tool: { handler } });
    const { taskId } = await leaving.start();
    await settle();
    await closeSoon(leaving);
    return { cluster, taskId };
  }

  it("has whoever takes it up stop the work", async () => {
    const { cluster, taskId } = await handedOver();
    const stranger = await cluster.node({ tool: null });
    const cancelling = stranger.runtime.cancel("alice", taskId);
    await settle();
    expect(cluster.farm.stateOf("job")).toBe("running");
    await cluster.node();
    await settle();
    expect(await cancelling).toMatchObject({ task: STOPPED });
    expect(cluster.farm.stateOf("job")).toBe("stopped");
  });

  it("says that the work may still run where nobody takes it up", async () => {
    const { cluster, taskId } = await handedOver();
    const stranger = await cluster.node({ tool: null });
    const cancelling = stranger.runtime.cancel("alice", taskId);
    await cluster.clock.advance(LEASE_MS * 0.5 + 2 * (GRACE_MS + POLL_MS));
    expect(await cancelling).toMatchObject({ task: UNSTOPPED });
  });

  it("says that the work may still run where its tool has become one that does not resume", async () => {
    const { cluster, taskId } = await handedOver();
    const stranger = await cluster.node({ tool: null });
    const cancelling = stranger.runtime.cancel("alice", taskId);
    await settle();
    await cluster.node({ tool: { recovery: "retry" } });
    await settle();
    expect(await cancelling).toMatchObject({ task: UNSTOPPED });
  });
});
