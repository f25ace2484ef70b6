/** A store of each kind to have chaos on: servers of our own, with a line to each process that can be broken. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadDriver } from "../../packages/sqlite/src/driver.js";
import { startPostgres } from "../services/postgres.js";
import { startRedis } from "../services/redis.js";
import { startTcpProxy, type TcpProxy } from "../services/tcp-proxy.js";
import type { StoreKind } from "./schedule.js";
import type { StorePlace } from "./server-process.js";

export interface Backend {
  /** What the process at `node` reaches its store by. */
  placeFor(node: number): StorePlace;
  /** The line of the process at `node` to its server; none where there is no server. */
  lineOf(node: number): TcpProxy | undefined;
  /** Crashes the server, and starts it again after `forMs`. */
  restart(forMs: number): Promise<void>;
  /** Holds the write lock of the file for `forMs`. */
  lock(forMs: number): Promise<void>;
  close(): Promise<void>;
}

/** @param folder for what the store keeps in files; removed by the caller */
export async function openBackend(kind: StoreKind, nodes: number, folder: string): Promise<Backend> {
  switch (kind) {
    case "memory":
      return withoutServer({ kind });
    case "sqlite": {
      const path = join(folder, "tasks.db");
      return { ...withoutServer({ kind, path }), lock: (forMs) => holdWriteLock(path, forMs) };
    }
    case "postgres":
      // Only the machine's end would need it: the server alone is crashed here.
      return behindLines(kind, nodes, await startPostgres(["fsync = off"]), "immediate");
    case "redis":
      // With `everysec` a crash may take what was acknowledged within the last second.
      return behindLines(kind, nodes, await startRedis(["--appendfsync", "always"]), "SIGKILL");
  }
}

async function nothing(): Promise<void> {}

function withoutServer(place: StorePlace): Backend {
  return { placeFor: () => place, lineOf: () => undefined, restart: nothing, lock: nothing, close: nothing };
}

interface Server<Crash> {
  url: string;
  port: number;
  start(): Promise<void>;
  stop(how: Crash): Promise<void>;
  remove(): Promise<void>;
}

async function behindLines<Crash>(
  kind: "postgres" | "redis",
  nodes: number,
  server: Server<Crash>,
  crash: Crash,
): Promise<Backend> {
  const lines = await Promise.all(Array.from({ length: nodes }, () => startTcpProxy(server.port)));
  let restarting = Promise.resolve();
  return {
    placeFor: (node) => ({ kind, url: server.url.replace(`:${server.port}`, `:${lines[node]?.port}`) }),
    lineOf: (node) => lines[node],
    // One after the other: a server that starts cannot be crashed.
    restart: (forMs) => {
      restarting = restarting.then(async () => {
        await server.stop(crash);
        await sleep(forMs);
        await server.start();
      });
      return restarting;
    },
    lock: nothing,
    close: async () => {
      await Promise.all(lines.map((line) => line.close()));
      await server.remove();
    },
  };
}

async function holdWriteLock(path: string, forMs: number): Promise<void> {
  const database = new (await loadDriver()).DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 20");
    while (!tookLock(database)) await sleep(5);
    await sleep(forMs);
    database.exec("ROLLBACK");
  } finally {
    database.close();
  }
}

function tookLock(database: { exec(sql: string): void }): boolean {
  try {
    database.exec("BEGIN IMMEDIATE");
    return true;
  } catch {
    return false;
  }
}
