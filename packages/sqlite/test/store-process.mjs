// A process of its own with a store on the file that is its first argument. Prints JSON lines.
import { once } from "node:events";
import { SqliteStore } from "@claimcheck/sqlite";

const [path, mode, name] = process.argv.slice(2);
const store = new SqliteStore({ path });

const task = (taskId, overrides = {}) => ({
  taskId,
  owner: "owner",
  toolName: "build_index",
  arguments: { by: name },
  status: "working",
  createdAt: Date.now(),
  lastUpdatedAt: Date.now(),
  ttlMs: 60_000,
  recovery: "fail",
  questions: [],
  attempt: { state: "queued", epoch: 0, tries: 0 },
  version: 1,
  ...overrides,
});

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/**
 * Creates with the keys that the other process uses too. Answers task id by key. The two begin at opposite ends, so that
 * each makes some however unevenly the lock goes round.
 */
async function createAll(keys) {
  const ids = {};
  for (let step = 0; step < keys; step += 1) {
    const n = name === "a" ? step : keys - 1 - step;
    const key = `key ${n}`;
    ids[key] = (await store.create(task(`${name} ${n}`, { idempotencyKey: key }))).taskId;
  }
  return ids;
}

/** Adds one to the counter's progress, as often as asked, against whoever does the same. */
async function countUp(times) {
  for (let done = 0; done < times; ) {
    const counter = await store.get("counter");
    const progress = { current: (counter.progress?.current ?? 0) + 1 };
    if ((await store.update("counter", counter.version, { progress })) !== "conflict") done += 1;
  }
}

/** Ends tasks that expire at once, and sweeps. Answers how many this process removed. */
async function sweepAway(times) {
  let swept = 0;
  for (let n = 0; n < times; n += 1) {
    const { taskId } = await store.create(task(`${name} brief ${n}`, { ttlMs: 0 }));
    const outcome = { kind: "result", result: {} };
    await store.update(taskId, 1, { status: "completed", finishedAt: Date.now(), outcome });
    if (n % 10 === 0) swept += await store.sweep(5);
  }
  return swept;
}

const modes = {
  /** All three at once, from when something is sent. */
  async contend() {
    say({ ready: true });
    await once(process.stdin, "data");
    process.stdin.destroy();
    const [ids, , swept] = await Promise.all([createAll(500), countUp(200), sweepAway(200)]);
    say({ ids, swept });
  },

  /** Creates and changes for ever, and says what has been acknowledged. Ends by being killed. */
  async write() {
    for (let n = 0; ; n += 1) {
      const { taskId } = await store.create(task(`${name} ${n}`, { idempotencyKey: `${name} ${n}` }));
      say({ taskId, version: 1 });
      await store.update(taskId, 1, { statusMessage: "changed", partialOutput: ["x".repeat(2_000)] });
      say({ taskId, version: 2 });
    }
  },

  /** Says that it is ready, then when it hears of a change. */
  async listen() {
    store.signals.subscribe((taskId) => say({ heard: taskId }));
    say({ ready: true });
    await new Promise((resolve) => setTimeout(resolve, 20_000));
  },

  /** Reads tasks that are in no cache, once something is sent, and says how many could not be read. */
  async read() {
    const tasks = [];
    for (let n = 0; n < 200; n += 1)
      tasks.push(await store.create(task(`${n}`, { arguments: { text: "x".repeat(9_000) } })));
    await store.close();
    await store.open();
    await store.get(tasks[0].taskId);
    // What is in the log says how long the file is: its own length is not looked at any more.
    await store.create(task("logged"));
    say({ ready: true });
    await once(process.stdin, "data");
    process.stdin.destroy();
    const reads = await Promise.allSettled(tasks.map(({ taskId }) => store.get(taskId)));
    say({ failed: reads.filter(({ status }) => status === "rejected").length });
  },

  async open() {
    say({ opened: true });
  },
};

try {
  await store.open();
  await modes[mode]();
  await store.close();
} catch (error) {
  say({ error: error.message, code: error.code });
}
