/**
 * From kill -9 of a process to its tasks recovered by another one on the same store, with the default lease: a task of
 * policy "fail" seen as failed, one of policy "retry" running again. Processes are killed at different moments of the
 * renewal of their leases.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TaskRuntime } from "@claimcheck/core";
import { reportRatio } from "./peers/limit.js";
import { openRecoveryRuntime } from "./peers/recovery-runtime.js";
import { postgresBench, sqliteBench } from "./peers/stores.js";

/** The runtime's default. */
const LEASE_MS = 15_000;
const MOST_MS = LEASE_MS + 1000;
const VICTIMS = 5;
/** From a victim's start to its end, and how much longer the next one lives: spread over the third of a lease that lies between two renewals. */
const LIFE_MS = 5200;
const STEP_MS = 1000;

/** How long each of a killed process's two tasks took. */
async function killOne(
  where: string,
  survivor: TaskRuntime,
  runs: Map<string, (at: number) => void>,
  lifeMs: number,
): Promise<number[]> {
  const child = fork(fileURLToPath(new URL("./peers/recovery-victim.ts", import.meta.url)), [where]);
  const [[failing, retried]] = (await once(child, "message")) as [[string, string]];
  const runsAgain = new Promise<number>((resolve) => runs.set(retried, resolve));
  await pause(lifeMs);
  child.kill("SIGKILL");
  const killedAt = performance.now();
  const failed = await survivor.wait("bench", failing);
  const failedAt = performance.now();
  if (failed?.status !== "failed") throw new Error(`not failed: ${failed?.status}`);
  return [failedAt - killedAt, (await runsAgain) - killedAt];
}

async function recoveryTimes(where: string): Promise<number[]> {
  const runs = new Map<string, (at: number) => void>();
  const survivor = await openRecoveryRuntime(where, (taskId) => runs.get(taskId)?.(performance.now()));
  try {
    const lives = Array.from({ length: VICTIMS }, (_, at) => LIFE_MS + at * STEP_MS);
    const kills = lives.map((lifeMs) => killOne(where, survivor, runs, lifeMs));
    return (await Promise.all(kills)).flat();
  } finally {
    await survivor.close();
  }
}

const worst: number[] = [];
const stores = { sqlite: await sqliteBench(), postgres: await postgresBench() };
for (const [name, bench] of Object.entries(stores)) {
  try {
    const times = await recoveryTimes(bench.url);
    worst.push(Math.max(...times));
    const seconds = times.map((ms) => (ms / 1000).toFixed(2)).sort();
    console.log(`${name}: ${seconds.join(", ")} s from kill to recovery`);
  } finally {
    await bench.close();
  }
}
console.log(`worst ${(Math.max(...worst) / 1000).toFixed(2)} s; the ratio is to the lease of ${LEASE_MS / 1000} s`);
reportRatio("recovery", Math.max(...worst) / LEASE_MS, { atMost: Number((MOST_MS / LEASE_MS).toFixed(3)) });
