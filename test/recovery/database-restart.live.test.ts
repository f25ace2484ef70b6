/** The database crashes and comes back while two workers run tasks: nothing is lost, run twice or left waiting. */
import { createTasks, type Tasks, type ToolContext } from "@claimcheck/mcp";
import { connectInMemory, type TaskClient } from "@claimcheck/mcp/testing";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { eventually } from "../fixtures/eventually.js";
import { recordLog } from "../fixtures/log-recorder.js";
import { startPostgres } from "../services/postgres.js";
import { startRedis } from "../services/redis.js";

/** A server of the test's own, and a handle of its store for whoever asks. */
interface Database {
  newStore(): PostgresStore | RedisStore;
  crash(): Promise<void>;
  start(): Promise<void>;
}

const logger = recordLog();
const NAMED = z.object({ name: z.string() });

const DATABASES: Record<string, () => Promise<Database>> = {
  PostgreSQL: async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    return {
      newStore: () => new PostgresStore({ url: server.url, logger }),
      crash: () => server.stop("immediate"),
      start: () => server.start(),
    };
  },
  Redis: async () => redis("--appendfsync", "always"),
};

async function redis(...settings: string[]): Promise<Database> {
  const server = await startRedis(settings);
  onTestFinished(() => server.remove());
  return {
    newStore: () => new RedisStore({ url: server.url, logger }),
    crash: () => server.stop("SIGKILL"),
    start: () => server.start(),
  };
}

/** One process's worth, and what its tool does. */
interface Worker {
  tasks: Tasks;
  client: TaskClient;
}

/** What every run of the tool goes through, by the `name` that it was called with. */
class Work {
  readonly runs: string[] = [];
  readonly told: string[] = [];
  readonly #ends = new Map<string, () => void>();

  /** Works until it is let go, or told to stop. */
  async do(name: string, by: string, { signal }: ToolContext): Promise<string> {
    this.runs.push(`${name} by ${by}`);
    await new Promise<void>((resolve, reject) => {
      this.#ends.set(name, resolve);
      signal.addEventListener("abort", () => {
        this.told.push(`${name} by ${by}`);
        reject(signal.reason);
      });
    });
    return `${name} is done`;
  }

  finish(name: string): void {
    this.#ends.get(name)?.();
  }
}

async function startWorker(database: Database, by: string, work: Work, leaseMs: number): Promise<Worker> {
  const tasks = createTasks({ store: database.newStore(), ownership: "single-user", leaseMs, logger });
  onTestFinished(() => tasks.close());
  const server = new McpServer({ name: by, version: "0" });
  const config = { execution: { taskSupport: "optional" }, recovery: "retry", cancelGraceMs: 100 } as const;
  // A tool that may be run again: only its lease keeps the other worker from doing so.
  tasks.registerTool(server, "work", { ...config, inputSchema: NAMED }, ({ name }, ctx) => work.do(name, by, ctx));
  const client = await connectInMemory(tasks, server);
  onTestFinished(() => client.close());
  return { tasks, client };
}

async function scene(database: Database, leaseMs: number): Promise<{ a: Worker; b: Worker; work: Work }> {
  const work = new Work();
  return {
    a: await startWorker(database, "a", work, leaseMs),
    b: await startWorker(database, "b", work, leaseMs),
    work,
  };
}

/** Whoever asked before has been looked for by now, and waits: each question reads the store once, and later ones after it. */
async function haveArrived(...workers: Worker[]): Promise<void> {
  for (let n = 0; n < 5; n += 1) await Promise.all(workers.map(({ client }) => client.list()));
}

describe.each(Object.keys(DATABASES))("when %s crashes and comes back", (kind) => {
  const newDatabase = (): Promise<Database> => (DATABASES[kind] as () => Promise<Database>)();

  it("what runs goes on, what ended meanwhile lands, and everybody who waits is answered", async () => {
    const database = await newDatabase();
    const { a, b, work } = await scene(database, 60_000);
    const before = await a.client.create("work", { name: "ends before" }, { idempotencyKey: "key" });
    const during = await a.client.create("work", { name: "ends meanwhile" });
    const after = await b.client.create("work", { name: "ends after" });
    await eventually(() => work.runs.length === 3);
    work.finish("ends before");
    await a.client.waitUntil(before.taskId, "completed");
    // Each is waited for where it runs, and where it does not.
    const waiting = [during, after].flatMap(({ taskId }) => [a.client.result(taskId), b.client.result(taskId)]);

    await haveArrived(a, b);
    await database.crash();
    work.finish("ends meanwhile");
    const refused = a.client.create("work", { name: "never made" });
    await expect(refused).rejects.toThrow();
    await expect(b.client.get(during.taskId)).rejects.toThrow();
    await database.start();
    await eventually(() => work.runs.length === 3 && b.client.get(after.taskId).then(Boolean, () => false), 30_000);
    work.finish("ends after");

    const texts = (await Promise.all(waiting)).map(({ content }) => content);
    const [meanwhile, afterwards] = ["ends meanwhile is done", "ends after is done"].map((text) => [
      { type: "text", text },
    ]);
    expect(texts).toEqual([meanwhile, meanwhile, afterwards, afterwards]);
    for (const { client } of [a, b]) {
      const { tasks } = await client.list();
      expect(tasks.map(({ taskId }) => taskId)).toEqual([after, during, before].map(({ taskId }) => taskId));
      expect(tasks.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    }
    const again = await b.client.create("work", { name: "ends before" }, { idempotencyKey: "key" });
    expect(again.taskId).toBe(before.taskId);
    expect(work.runs).toEqual(["ends before by a", "ends meanwhile by a", "ends after by b"]);
    expect(work.told).toEqual([]);
    await eventually(() => [a, b].every(({ tasks }) => tasks.runtime.gauges.attempts === 0));
  });

  it("for longer than a lease, the work is told to stop before another begins it anew", async () => {
    const database = await newDatabase();
    const { a, b, work } = await scene(database, 2000);
    const { taskId } = await a.client.create("work", { name: "job" });
    await eventually(() => work.runs.length === 1);
    const waiting = b.client.result(taskId);
    await haveArrived(b);
    await database.crash();
    await eventually(() => work.told.length === 1, 20_000);
    expect(work.runs).toEqual(["job by a"]);
    await database.start();
    await eventually(() => work.runs.length === 2, 30_000);
    expect(work.told).toEqual(["job by a"]);
    work.finish("job");
    expect(await waiting).toMatchObject({ content: [{ text: "job is done" }] });
    expect(await a.client.get(taskId)).toMatchObject({ status: "completed" });
    expect(work.runs).toHaveLength(2);
  });
});

it("a Redis that forgets everything leaves no work running, nobody waiting, and nothing behind", async () => {
  const database = await redis("--appendonly", "no");
  // It is found out when a lease is renewed.
  const { a, b, work } = await scene(database, 15_000);
  const { taskId } = await a.client.create("work", { name: "job" }, { idempotencyKey: "key" });
  await eventually(() => work.runs.length === 1);
  const waiting = [a, b].map(({ client }) => client.result(taskId).catch((error: Error) => error.message));
  await haveArrived(a, b);
  await database.crash();
  await database.start();
  await eventually(() => work.told.length === 1, 30_000);
  const unknown = await a.client.get("tsk_invented").catch((error: Error) => error.message);
  expect(await Promise.all(waiting)).toEqual([unknown, unknown]);
  expect((await b.client.list()).tasks).toEqual([]);
  expect((await b.client.create("work", { name: "job" }, { idempotencyKey: "key" })).taskId).not.toBe(taskId);
  await eventually(() => work.runs.length === 2);
  await eventually(() => a.tasks.runtime.gauges.attempts === 0);
});
