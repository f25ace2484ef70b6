/**
 * One process under test: the real runtime on a real store, served over HTTP. It is told what to be in its first
 * argument, says on which URL it serves, and ends when its input does.
 */
import { MemoryStore, type TaskRuntimeOptions, type TaskStore } from "@claimcheck/core";
import { createTasks, serveHttp, type TasksOptions } from "@claimcheck/mcp";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { type AuthInfo, McpServer } from "@modelcontextprotocol/server";
import { BROKEN, type Broken, type BrokenName } from "./broken.js";
import { Journal } from "./journal.js";
import { LEASE_MS } from "./schedule.js";
import { registerTools } from "./tools.js";
import { WatchedStore } from "./watched-store.js";

/** Where the store of a process is. */
export type StorePlace =
  | { kind: "memory" }
  | { kind: "sqlite"; path: string }
  | { kind: "postgres"; url: string }
  | { kind: "redis"; url: string };

export interface ProcessConfig {
  node: number;
  journal: string;
  store: StorePlace;
  broken?: BrokenName;
}

/**
 * What keeps a process waiting for longer has disturbed it: it may not have renewed its leases. A move in a contest takes up
 * to a handful of answers one after the other.
 */
const LATE_MS = LEASE_MS / 8;
const DRAIN_MS = 200;

function newStore(place: StorePlace): TaskStore {
  switch (place.kind) {
    case "memory":
      return new MemoryStore();
    case "sqlite":
      return new SqliteStore({ path: place.path, busyTimeoutMs: 2000 });
    case "postgres":
      return new PostgresStore({
        url: place.url,
        poolSize: 4,
        connectTimeoutMs: 1000,
        queryTimeoutMs: 1500,
        heartbeatMs: 500,
      });
    case "redis":
      return new RedisStore({ url: place.url, connectTimeoutMs: 1000, commandTimeoutMs: 1500, heartbeatMs: 500 });
  }
}

/** Says when the event loop did not get its turn: the process was stopped, or its machine was busy. */
function watchLoop(journal: Journal): void {
  let lastAt = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - lastAt >= LATE_MS) journal.write({ event: "late", sinceAt: lastAt, why: "event loop" });
    lastAt = now;
  }, LATE_MS / 4).unref();
}

const verifyToken = async (token: string): Promise<AuthInfo> => ({
  token,
  clientId: "chaos",
  scopes: [],
  extra: { sub: token },
});

async function main({ node, journal: path, store: place, broken }: ProcessConfig): Promise<void> {
  const journal = new Journal(path, node);
  watchLoop(journal);
  const wrong: Broken = broken === undefined ? {} : BROKEN[broken];
  const sound = newStore(place);
  const store = new WatchedStore(wrong.store?.(sound) ?? sound, LATE_MS, (sinceAt, why) =>
    journal.write({ event: "late", sinceAt, why: `store: ${why}` }),
  );
  const options: TasksOptions & TaskRuntimeOptions = {
    store,
    ownership: "principal",
    leaseMs: LEASE_MS,
    storeTimeoutMs: 900,
    pollIntervalMs: 300,
    cancelGraceMs: 150,
    ...(wrong.clock && { clock: wrong.clock }),
  };
  const tasks = createTasks(options);
  wrong.runtime?.(tasks.runtime, store);
  const factory = (): McpServer => {
    const server = new McpServer({ name: "chaos", version: "0" });
    tasks.bind(server);
    registerTools(tasks, server, { journal, epochOf: (taskId) => store.epochOf(taskId) });
    return server;
  };
  // What is found in the store when it opens must have its tools.
  factory();
  const serving = await serveHttp(tasks, factory, { auth: { verifyToken }, sessions: false });
  const leave = async (): Promise<void> => {
    await serving.close();
    await tasks.close({ drainMs: DRAIN_MS, stopMs: DRAIN_MS });
    process.exit(0);
  };
  process.once("SIGTERM", () => void leave());
  process.stdin.on("end", () => process.exit(0)).resume();
  journal.write({ event: "opened" });
  process.stdout.write(`${serving.url}\n`);
}

await main(JSON.parse(process.argv[2] ?? "") as ProcessConfig);
