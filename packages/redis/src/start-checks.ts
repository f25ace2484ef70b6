/** What is asked of a server before the store is used on it. Each refusal names the setting to change. */
import { type Logger, TaskError } from "@claimcheck/core";
import type { RedisClient } from "./client.js";

/** Scripts that look keys up by themselves, and the expiry they rely on, are tested from here on. */
const OLDEST_MAJOR = 7;

/**
 * Asks every node that holds keys. `INFO` says it all and is allowed where `CONFIG` is not; where even that is
 * forbidden, a warning is all that is left.
 *
 * @throws TaskError `store_unusable` when the store would not work on the server, or might lose tasks
 */
export async function checkServer(client: RedisClient, logger: Logger): Promise<void> {
  for (const node of client.nodes?.("master") ?? [client]) {
    const info = await readInfo(node);
    if (info === undefined) {
      logger.warn({}, "Redis does not allow INFO, so it is not known whether it may evict tasks (maxmemory-policy)");
      continue;
    }
    const fault = faultOf(info);
    if (fault !== undefined) throw new TaskError("store_unusable", fault);
    warnOfLoss(info, logger);
  }
}

async function readInfo(node: RedisClient): Promise<Map<string, string> | undefined> {
  let text: string;
  try {
    text = String(await node.call("INFO"));
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("NOPERM")) return undefined;
    throw error;
  }
  const lines = text.split("\r\n").filter((line) => line.includes(":"));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

function faultOf(info: ReadonlyMap<string, string>): string | undefined {
  const version = info.get("redis_version") ?? "";
  if (Number.parseInt(version, 10) < OLDEST_MAJOR)
    return `The server is Redis ${version}; version 7 or Valkey is needed.`;
  if (info.get("role") === "slave") {
    const primary = `${info.get("master_host")}:${info.get("master_port")}`;
    return `The server is a read-only replica of ${primary}; connect to that one, or end replication with REPLICAOF NO ONE.`;
  }
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    return `The server may evict tasks: its maxmemory-policy is ${policy}. Set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in its configuration).`;
  }
  return undefined;
}

function warnOfLoss(info: ReadonlyMap<string, string>, logger: Logger): void {
  if (info.get("aof_enabled") !== "0") return;
  logger.warn({}, "Redis keeps no append-only file: tasks since its last snapshot are lost when it stops (appendonly)");
}
