/**
 * Tasks created and completed per second in SQLite, PostgreSQL and Redis, one at a time and sixteen at a time, beside
 * the same bytes written by the bare client. A memory store has no client to be measured against; see `retained`.
 */
import { type Floor, postgresFloor, redisFloor, sqliteFloor, throughStore } from "./peers/floors.js";
import { reportRatio } from "./peers/limit.js";
import { alternate, median } from "./peers/medians.js";
import { smallTask, type TaskWrites, writesOf } from "./peers/records.js";
import { postgresBench, redisBench, type StoreBench, sqliteBench } from "./peers/stores.js";

const LEAST = 0.6;
const RUNS = 11;
const POOL_SIZE = 10;

/** Ways, and how many tasks a run has where each write waits for a disk. */
const SIZES = [
  { ways: 1, tasks: 100 },
  { ways: 16, tasks: 400 },
];

interface Side {
  store: () => Promise<StoreBench>;
  floor: (url: string) => Promise<Floor>;
  /** So that a run is long enough to be measured. */
  timesTasks?: number;
}

const SIDES: Record<string, Side> = {
  sqlite: { store: sqliteBench, floor: (file) => sqliteFloor(`${file}.floor`), timesTasks: 5 },
  postgres: { store: () => postgresBench(), floor: (url) => postgresFloor(url, POOL_SIZE) },
  redis: { store: () => redisBench(), floor: redisFloor, timesTasks: 10 },
};

async function tasksPerSecond(count: number, write: (tasks: readonly TaskWrites[]) => Promise<void>): Promise<number> {
  const tasks = Array.from({ length: count }, () => writesOf(smallTask()));
  const start = performance.now();
  await write(tasks);
  return count / ((performance.now() - start) / 1000);
}

/** Until the code is compiled, and a store no longer asks more of its files for having opened them a moment ago. */
async function warmUp(write: (tasks: readonly TaskWrites[]) => Promise<void>): Promise<void> {
  const until = performance.now() + 2_500;
  while (performance.now() < until) await tasksPerSecond(100, write);
}

const asked = process.argv.slice(2);
const least: number[] = [];
for (const [name, side] of Object.entries(SIDES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const { timesTasks = 1 } = side;
  const bench = await side.store();
  const floor = await side.floor(bench.url);
  try {
    const ours = throughStore(bench.store);
    await warmUp((all) => ours(all, 16));
    await warmUp((all) => floor.writeAll(all, 16));
    for (const { ways, tasks } of SIZES) {
      const { a, b, ratios } = await alternate(
        RUNS,
        () => tasksPerSecond(tasks * timesTasks, (all) => ours(all, ways)),
        () => tasksPerSecond(tasks * timesTasks, (all) => floor.writeAll(all, ways)),
      );
      const label = `store-floor-${name}-${ways}`;
      console.log(`${name}, ${ways} at a time: store ${median(a).toFixed(0)}/s, bare client ${median(b).toFixed(0)}/s`);
      console.log(
        `ratio ${label} ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
      );
      least.push(median(ratios));
    }
  } finally {
    await floor.close();
    await bench.close();
  }
}
reportRatio("store-floor", Math.min(...least), { atLeast: LEAST });
