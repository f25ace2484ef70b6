/**
 * What create, get and a page of fifty cost at a thousand retained tasks and at a million (SQLite and PostgreSQL) or two
 * hundred thousand (memory), what a task in memory takes beyond its payload, and whether memory stays flat through a
 * million tasks that were created, finished and expired. One part alone: `-- sqlite`, `postgres`, `memory` or `cycles`.
 */
import { MemoryStore, type TaskRecord, type TaskStore } from "@claimcheck/core";
import { fillPostgres, fillSqlite } from "./peers/fill.js";
import { type Limit, reportRatio } from "./peers/limit.js";
import { median } from "./peers/medians.js";
import { smallTask, writesOf } from "./peers/records.js";
import { postgresBench, type StoreBench, sqliteBench } from "./peers/stores.js";

const FEW = 1000;
const MANY = 1_000_000;
const MANY_IN_MEMORY = 200_000;
const OWNER = "owner-7";
const MOST = 1.3;
const MOST_BYTES_A_TASK = 1024;

/**
 * A thousand different tasks are asked for on both sides: what is measured is what those cost that are merely there. Whoever
 * asks for more of them has more pages, and more of what they are made of, in no cache, however many others there are.
 * Retained tasks belong to ten owners, so that each has more than a page of them; what is measured belongs to one of them.
 */
const OWNERS = 10;

interface Filled {
  store: TaskStore;
  /** Of tasks that were there before, some of each age. */
  taskIds: readonly string[];
}

type Operation = (filled: Filled, round: number) => Promise<void>;

const OPERATIONS: Record<string, Operation> = {
  create: async ({ store }) => void (await store.create(smallTask(OWNER))),
  get: async ({ store, taskIds }, round) => {
    const task = await store.get(taskIds[(round * 7919) % taskIds.length] as string);
    // Whoever reads a task looks at it: a `Map` that hands out records which nobody looks at misses fewer caches.
    if (task?.status !== "completed") throw new Error("a retained task is not there");
  },
  "list(50)": async ({ store }) => {
    const { tasks } = await store.list({ owner: OWNER, limit: 50 });
    if (tasks.length === 0) throw new Error("an owner's tasks are not there");
  },
};

/** Microseconds of one operation, in a block of them. */
async function cost(filled: Filled, operation: Operation, rounds: number, from: number): Promise<number> {
  const start = performance.now();
  for (let round = 0; round < rounds; round += 1) await operation(filled, from + round);
  return ((performance.now() - start) / rounds) * 1000;
}

/** What a process has read once is in some cache; what it measures is a process that has been at work for a while. */
async function readAll({ store, taskIds }: Filled): Promise<void> {
  for (const taskId of taskIds) await store.get(taskId);
}

interface Compared {
  label: string;
  few: Filled;
  many: Filled;
  operation: Operation;
  rounds: number;
}

/** What an operation costs among many, beside what it costs among few: blocks of both in turn, so that a drift of the machine meets both alike. */
async function ratioOf({ label, few, many, operation, rounds }: Compared): Promise<number> {
  const [small, large]: [number[], number[]] = [[], []];
  for (let block = 0; block < 25; block += 1) {
    const sides = [
      [few, small],
      [many, large],
    ] as const;
    for (const [filled, values] of block % 2 === 0 ? sides : sides.toReversed())
      values.push(await cost(filled, operation, rounds, block * rounds));
  }
  // The first blocks are the compiler's.
  const [a, b] = [small.slice(5), large.slice(5)];
  const ratio = median(b.map((value, at) => value / (a[at] as number)));
  const fastest = Math.min(...b) / Math.min(...a);
  console.log(
    `${label}: ${median(a).toFixed(1)} µs, among many ${median(b).toFixed(1)} µs; ratio ${ratio.toFixed(3)} (of the fastest ${fastest.toFixed(3)})`,
  );
  return ratio;
}

async function compare(name: string, few: Filled, many: Filled, rounds: number): Promise<Map<string, number>> {
  for (const filled of [few, many]) await readAll(filled);
  const ratios = new Map<string, number>();
  for (const [label, operation] of Object.entries(OPERATIONS))
    ratios.set(label, await ratioOf({ label: `${name} ${label}`, few, many, operation, rounds }));
  return ratios;
}

const worstOf = (ratios: Map<string, number>): number => Math.max(...ratios.values());

type Fill = (bench: StoreBench, count: number, owners: number) => Promise<readonly string[]>;

async function compareStores(
  name: string,
  make: () => Promise<StoreBench>,
  fill: Fill,
  rounds: number,
): Promise<number> {
  const [few, many] = [await make(), await make()];
  try {
    const fewIds = await fill(few, FEW, OWNERS);
    const started = performance.now();
    const manyIds = await fill(many, MANY, OWNERS);
    console.log(`${name}: ${MANY} tasks filled in, in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    return worstOf(
      await compare(name, { store: few.store, taskIds: fewIds }, { store: many.store, taskIds: manyIds }, rounds),
    );
  } finally {
    await few.close();
    await many.close();
  }
}

async function filledMemory(count: number): Promise<Filled> {
  const store = new MemoryStore();
  const taskIds: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const { task, completion } = writesOf(smallTask(`owner-${at % OWNERS}`));
    await store.create(task);
    await store.update(task.taskId, 1, completion);
    if (at % Math.ceil(count / 1000) === 0) taskIds.push(task.taskId);
  }
  return { store, taskIds };
}

/** The same tasks in a `Map`, and nothing else. */
async function bareMap({ store, taskIds }: Filled, count: number): Promise<Filled> {
  const tasks = new Map(
    Array.from({ length: count - taskIds.length }, () => smallTask()).map((task) => [task.taskId, task]),
  );
  for (const taskId of taskIds) tasks.set(taskId, (await store.get(taskId)) as TaskRecord);
  const get = async (taskId: string): Promise<TaskRecord | null> => tasks.get(taskId) ?? null;
  return { store: { get } as TaskStore, taskIds };
}

/**
 * Half a microsecond's read is a few more misses of the processor's caches among many tasks, as that of any map is: it is
 * held to what a `Map` of as many loses.
 */
async function compareMemory(): Promise<number> {
  const [few, many] = [await filledMemory(FEW), await filledMemory(MANY_IN_MEMORY)];
  const ratios = await compare("memory", few, many, 2000);
  const bare = { few: await bareMap(few, FEW), many: await bareMap(many, MANY_IN_MEMORY) };
  const operation = OPERATIONS.get as Operation;
  const ofMap = await ratioOf({ label: "bare Map get", ...bare, operation, rounds: 2000 });
  ratios.set("get", (ratios.get("get") as number) / ofMap);
  return worstOf(ratios);
}

function heapUsed(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

function gc(): void {
  if (globalThis.gc === undefined) throw new Error("run by npm run bench, which lets it collect garbage");
  globalThis.gc();
}

/** Bytes of heap that a finished task takes beside its arguments and its result. */
async function memoryPerTask(): Promise<number> {
  const count = 50_000;
  const { task, completion } = writesOf(smallTask());
  const payload = Buffer.byteLength(JSON.stringify([task.arguments, completion.outcome]));
  const before = heapUsed();
  const { store } = await filledMemory(count);
  const taken = (heapUsed() - before) / count;
  if ((await store.list({ limit: 1 })).tasks.length === 0) throw new Error("the tasks are not there");
  console.log(`memory: ${taken.toFixed(0)} bytes of heap a small task, its payload of ${payload} bytes included`);
  return taken - payload;
}

/** Resident memory after the last of a million cycles, beside what it was after the first tenth. */
async function cycles(): Promise<number> {
  let now = Date.now();
  const clock = { now: () => now, setTimer: () => undefined, clearTimer: () => {} };
  const store = new MemoryStore({ clock: clock as never });
  const resident: number[] = [];
  for (let at = 1; at <= MANY; at += 1) {
    const { task, completion } = writesOf({ ...smallTask(`owner-${at % OWNERS}`, now), ttlMs: 1000 });
    await store.create(task);
    await store.update(task.taskId, 1, completion);
    now += 1;
    if (at % 500 === 0) await store.sweep(500);
    if (at % (MANY / 10) === 0) {
      gc();
      resident.push(process.memoryUsage.rss());
    }
  }
  const [first, last] = [resident[0] as number, resident.at(-1) as number];
  console.log(`cycles: resident ${resident.map((bytes) => (bytes / 2 ** 20).toFixed(0)).join(", ")} MiB`);
  return last / first;
}

/** The test service's 32 MB are a twentieth of what a million tasks take; PostgreSQL advises a quarter of the machine's memory. */
const POSTGRES_SETTINGS = ["shared_buffers = 1GB"];

/** The name of a part, what it measures, and what that may be. */
const PARTS: Record<string, { measure: () => Promise<number>; limit: Limit; name: string }[]> = {
  memory: [
    {
      name: "retained-memory",
      measure: compareMemory,
      limit: { atMost: MOST },
    },
    { name: "retained-bytes", measure: memoryPerTask, limit: { atMost: MOST_BYTES_A_TASK } },
  ],
  cycles: [{ name: "retained-cycles", measure: cycles, limit: { atMost: 1.1 } }],
  sqlite: [
    {
      name: "retained-sqlite",
      measure: () => compareStores("sqlite", sqliteBench, fillSqlite, 100),
      limit: { atMost: MOST },
    },
  ],
  postgres: [
    {
      name: "retained-postgres",
      measure: () => compareStores("postgres", () => postgresBench(POSTGRES_SETTINGS), fillPostgres, 100),
      limit: { atMost: MOST },
    },
  ],
};

const asked = process.argv[2];
let worst = 0;
for (const [part, measurements] of Object.entries(PARTS)) {
  if (asked !== undefined && asked !== part) continue;
  for (const { name, measure, limit } of measurements) {
    const value = await measure();
    reportRatio(name, value, limit);
    if (name !== "retained-bytes") worst = Math.max(worst, value);
  }
}
console.log(`ratio retained ${worst.toFixed(3)}`);
