import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  InProcessRunner,
  isTerminal,
  MemoryStore,
  type TaskRecord,
  TaskRuntime,
  type TaskStore,
} from "@claimcheck/core";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { SlowReads } from "./slow-reads.js";

const RACES = 500;
const AT_A_TIME = 50;
const READ_PAUSE_MS = 20;
const WHOLE = { content: [{ type: "text", text: "whole" }] };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "claimcheck-races-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const runtimes: TaskRuntime[] = [];
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()));
});

/** One handle for the process that runs the tasks, another for the one that cancels them; memory has one process. */
const STORES: Record<string, () => [TaskStore, TaskStore?]> = {
  memory: () => [new MemoryStore()],
  sqlite: () => {
    const path = join(folder, `${randomBytes(6).toString("hex")}.db`);
    return [new SqliteStore({ path }), new SqliteStore({ path })];
  },
  postgres: () => {
    const options = { url: inject("postgres").url, schema: `races_${randomBytes(6).toString("hex")}` };
    return [new PostgresStore(options), new PostgresStore(options)];
  },
  redis: () => {
    const options = { url: inject("redis").url, prefix: `races_${randomBytes(6).toString("hex")}` };
    return [new RedisStore(options), new RedisStore(options)];
  },
};

interface Race {
  runtime: TaskRuntime;
  canceller: TaskRuntime;
  /** Lets the tool of a task return. */
  release(taskId: string): void;
}

async function openRuntime(store: TaskStore): Promise<TaskRuntime> {
  const runner = new InProcessRunner({ concurrency: 1000 });
  const runtime = new TaskRuntime({ store: new SlowReads(store, READ_PAUSE_MS), runner });
  await runtime.open();
  runtimes.push(runtime);
  return runtime;
}

async function openRace(stores: [TaskStore, TaskStore?]): Promise<Race> {
  const runtime = await openRuntime(stores[0]);
  const canceller = stores[1] === undefined ? runtime : await openRuntime(stores[1]);
  const ends = new Map<string, () => void>();
  runtime.define({
    name: "work",
    handler: async (_args, { task, cancelToken }) => {
      task?.recordOutput(["half"]);
      const released = new Promise<true>((resolve) => ends.set(task?.taskId ?? "", () => resolve(true)));
      if (await Promise.race([released, cancelToken.wait().then(() => false)]))
        return { kind: "result", result: WHOLE };
      throw new Error("stopped");
    },
  });
  return { runtime, canceller, release: (taskId) => ends.get(taskId)?.() };
}

/** Whoever sees a terminal status sees all of it, and never sees it become another. */
function checkSighting(task: TaskRecord | null | undefined, terminal: Map<string, TaskRecord>): void {
  if (task === null || task === undefined) throw new Error("the task is gone");
  const before = terminal.get(task.taskId);
  if (before !== undefined) expect(task).toEqual(before);
  if (!isTerminal(task)) return;
  terminal.set(task.taskId, task);
  if (task.status === "completed") expect(task.outcome).toEqual({ kind: "result", result: WHOLE });
  else expect(task).toMatchObject({ status: "cancelled", partialOutput: ["half"] });
}

async function race(
  { runtime, canceller, release }: Race,
  n: number,
  spreadMs: number,
  terminal: Map<string, TaskRecord>,
): Promise<string> {
  const { task } = await runtime.create({ owner: "alice", toolName: "work", arguments: { n } });
  const { taskId } = task;
  const started = await runtime.get("alice", taskId);
  checkSighting(started, terminal);
  const cancelling = canceller.cancel("alice", taskId);
  // The tool returns while the cancellation is on its way: before, during and after what it reads and writes.
  await new Promise((resolve) => setTimeout(resolve, (((n * 7) % AT_A_TIME) / AT_A_TIME) * spreadMs));
  release(taskId);
  const [answer, waited] = await Promise.all([
    cancelling,
    canceller.wait("alice", taskId),
    runtime.wait("alice", taskId),
  ]);
  const reads = await Promise.all([runtime.get("alice", taskId), canceller.get("alice", taskId)]);
  for (const seen of [answer?.task, waited, ...reads]) checkSighting(seen, terminal);
  expect(answer?.cancelled).toBe(reads[0]?.status === "cancelled");
  return reads[0]?.status ?? "gone";
}

describe.each(Object.keys(STORES))("completion against cancellation on %s with slowed reads", (name) => {
  it(`${RACES} times: one terminal write wins, and nobody sees a terminal status without its payload`, async () => {
    const contest = await openRace((STORES[name] as () => [TaskStore, TaskStore?])());
    const terminal = new Map<string, TaskRecord>();
    const ends: string[] = [];
    let spreadMs = 100;
    for (let from = 0; from < RACES; from += AT_A_TIME) {
      const races = Array.from({ length: AT_A_TIME }, (_, n) => race(contest, from + n, spreadMs, terminal));
      const ended = await Promise.all(races);
      ends.push(...ended);
      // Over about as long as a cancellation takes, which the machine decides: whoever lost more often gets more time.
      spreadMs *= ended.filter((end) => end === "completed").length > AT_A_TIME / 2 ? 2 : 0.5;
    }
    expect(ends).toHaveLength(RACES);
    // A contest that one side always wins is none.
    for (const status of ["completed", "cancelled"])
      expect(ends.filter((end) => end === status).length).toBeGreaterThan(20);
    expect(contest.runtime.gauges).toMatchObject({ attempts: 0, running: 0, watchedTasks: 0 });
  }, 120_000);
});
