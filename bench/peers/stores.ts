/** The stores that last, on servers and in folders of their own, and the bare client beside each. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskStore } from "@claimcheck/core";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { SqliteStore } from "@claimcheck/sqlite";
import { startPostgres } from "../../test/services/postgres.js";
import { startRedis } from "../../test/services/redis.js";

/** A store that is open, and what it lives on. */
export interface StoreBench<Store extends TaskStore = TaskStore> {
  store: Store;
  /** Of the server, or the file. */
  url: string;
  close(): Promise<void>;
}

export async function sqliteBench(): Promise<StoreBench<SqliteStore>> {
  const folder = await mkdtemp(join(tmpdir(), "claimcheck-bench-sqlite-"));
  const url = join(folder, "tasks.db");
  const store = new SqliteStore({ path: url });
  await store.open();
  const close = async (): Promise<void> => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { store, url, close };
}

/** @param settings lines of `postgresql.conf` */
export async function postgresBench(settings: readonly string[] = []): Promise<StoreBench<PostgresStore>> {
  const { url, remove } = await startPostgres(settings);
  const store = new PostgresStore({ url });
  await store.open();
  const close = async (): Promise<void> => {
    await store.close();
    await remove();
  };
  return { store, url, close };
}

/** @param settings further arguments of `redis-server` */
export async function redisBench(settings: readonly string[] = []): Promise<StoreBench<RedisStore>> {
  const { url, remove } = await startRedis(settings);
  const store = new RedisStore({ url });
  await store.open();
  const close = async (): Promise<void> => {
    await store.close();
    await remove();
  };
  return { store, url, close };
}
