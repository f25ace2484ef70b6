/** `npm run chaos`: seeds on one store, a line each; what went wrong in order of time. Exit code 1 if anything did. */
import { parseArgs } from "node:util";
import { BROKEN, type BrokenName } from "./broken.js";
import { drillOf } from "./drills.js";
import { runSchedules } from "./run-schedules.js";
import { STORE_KINDS, scheduleOf } from "./schedule.js";

const USAGE = `usage: npm run chaos -- [--store ${STORE_KINDS.join("|")}] [--seed N] [--seeds HOW_MANY] [--broken ${Object.keys(BROKEN).join("|")}]`;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      store: { type: "string", default: "sqlite" },
      seed: { type: "string", default: "1" },
      seeds: { type: "string", default: "1" },
      broken: { type: "string" },
      timeline: { type: "boolean", default: false },
    },
  });
  const kind = oneOf("store", values.store, STORE_KINDS);
  const first = wholeNumber("seed", values.seed);
  const seeds = Array.from({ length: wholeNumber("seeds", values.seeds) }, (_, n) => first + n);
  const broken = values.broken && oneOf("broken", values.broken, Object.keys(BROKEN) as BrokenName[]);
  const schedules = seeds.map((seed) => (broken ? drillOf(kind, broken, seed) : scheduleOf(kind, seed)));
  for await (const { history, violations, timeline } of runSchedules({ kind, ...(broken && { broken }) }, schedules)) {
    const { beganAt, healedAt, settledAt, schedule, exchanges } = history;
    const faults = schedule.faults.map((fault) => fault.kind).join(" ");
    const took = `${healedAt - beganAt} + ${settledAt - healedAt} ms`;
    say(
      `${violations.length === 0 ? "ok    " : "FAILED"} ${kind} ${schedule.seed}: ${exchanges.length} requests, ${took}, ${faults}`,
    );
    if (violations.length > 0) process.exitCode = 1;
    if (violations.length > 0 || values.timeline) say(timeline());
  }
}

function oneOf<T extends string>(option: string, value: string, choices: readonly T[]): T {
  if ((choices as readonly string[]).includes(value)) return value as T;
  throw new Error(`--${option} is one of ${choices.join(", ")}, not ${value}\n${USAGE}`);
}

function wholeNumber(option: string, value: string): number {
  if (/^\d+$/.test(value)) return Number(value);
  throw new Error(`--${option} is a whole number, not ${value}\n${USAGE}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`chaos: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
// The handle of a socket that was reset at the wrong moment is never closed (Node 20), and an exit that waits for it spins.
process.exit();
