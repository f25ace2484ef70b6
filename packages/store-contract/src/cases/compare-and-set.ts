import assert from "node:assert/strict";
import type { TaskChanges, TaskEvent, TaskRecord, TaskStore } from "@claimcheck/core";
import { applyChanges, transition } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

const TOGETHER = "All members of one update become visible together";
const ONE_WINS = "Of any number of concurrent updates from one version, one wins";

export const compareAndSetCases: CaseGroup = {
  name: "compare-and-set",
  cases: [
    promised("Changes a record, if it still has the version that the caller read", async (context) => {
      const task = await context.create({ idempotencyKey: "key" });
      await context.changed(task, { statusMessage: "half way" });
      const stored = await context.store.get(task.taskId);
      assert.deepEqual(stored, { ...task, statusMessage: "half way", version: 2 });
      assert.deepEqual(await context.store.findByKey("owner", "key"), stored);
    }),
    promised("Answers the changed record; its version is one higher", async (context) => {
      for (const life of LIVES) await assertLife(context, life);
    }),
    promised('Answers `"conflict"` when the version has moved on, and changes nothing', async (context) => {
      const task = await context.create();
      const next = await context.changed(task, { statusMessage: "first" });
      const late: TaskChanges = { ...(await context.completion()), statusMessage: "late", partialOutput: ["late"] };
      for (const version of [task.version, next.version + 1, 0]) {
        assert.equal(await context.store.update(task.taskId, version, late), "conflict", `from version ${version}`);
      }
      assert.deepEqual(await context.store.get(task.taskId), next);
    }),
    promised("Answers `null` when the task does not exist, or has expired", async (context) => {
      assert.equal(await context.store.update("tsk_unknown", 1, { statusMessage: "x" }), null);
      const task = await context.expired();
      assert.equal(await context.store.update(task.taskId, task.version, { statusMessage: "x" }), null);
      assert.equal(await context.store.update(task.taskId, 1, { statusMessage: "x" }), null);
      assert.equal(await context.store.get(task.taskId), null);
    }),
    promised(ONE_WINS, async (context) => assertOneWinner(await context.create(), [context.store])),
    promised(
      ONE_WINS,
      async (context) => {
        const task = await context.create();
        await Promise.all(Array.from({ length: 8 }, () => increment(context.store, task.taskId, 10)));
        const counted = await context.store.get(task.taskId);
        assert.equal(counted?.progress?.current, 80);
        assert.equal(counted?.version, 81);
      },
      { detail: "so none that answered a record is lost" },
    ),
    promised(
      "A member that is `undefined` in `changes` is removed; a member that is not there is left as it is",
      async (context) => {
        const task = await context.create({ idempotencyKey: "key", request: { sessionId: "s1" } });
        const full = await context.changed(task, {
          statusMessage: "half way",
          progress: { current: 1, total: 2 },
          partialOutput: ["a"],
          checkpoint: { step: 1 },
        });
        const removable = ["statusMessage", "progress", "partialOutput", "checkpoint"] as const;
        let left: TaskRecord = full;
        for (const member of removable) {
          const { [member]: _removed, ...rest } = left;
          left = await context.changed(left, { [member]: undefined });
          assert.deepEqual(left, { ...rest, version: left.version });
          assert.deepEqual(await context.store.get(task.taskId), left);
        }
        assert.deepEqual(left, { ...task, version: full.version + removable.length });
      },
    ),
    promised(TOGETHER, async (context) => {
      for (let round = 0; round < 20; round += 1) await assertAtomicFinish(context);
    }),
  ],
};

/** What becomes of a task over its life, one list for each way to end. */
const LIVES: readonly TaskEvent[][] = [
  [
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    { type: "start", epoch: 1, leaseUntilAt: 9e15 },
    { type: "report", epoch: 1, progress: { current: 1, total: 3, message: "one" }, partialOutput: ["a"] },
    { type: "renew", epoch: 1, leaseUntilAt: 9.1e15 },
    { type: "report", epoch: 1, partialOutput: ["a", { b: [1, null, true] }], statusMessage: "two" },
    { type: "checkpoint", epoch: 1, checkpoint: { cell: 7 } },
    { type: "finish", epoch: 1, outcome: { kind: "result", result: { content: [], structuredContent: { n: 1 } } } },
  ],
  [
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    {
      type: "ask",
      epoch: 1,
      question: { key: "q1", method: "elicitation/create", params: { message: "?" }, askedAt: 5 },
    },
    { type: "answer", key: "q1", answer: { action: "accept", content: { env: "prod" } } },
    { type: "finish", epoch: 1, outcome: { kind: "error_result", result: { isError: true, content: [] } } },
  ],
  [
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    { type: "set_status", epoch: 1, status: "input_required", message: "waiting" },
    { type: "release", epoch: 1 },
    { type: "lease", runnerId: "r2", leaseUntilAt: 9e15 },
    { type: "finish", epoch: 2, outcome: { kind: "threw", message: "no" }, statusMessage: "no", partialOutput: ["a"] },
  ],
  [
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    { type: "start", epoch: 1, leaseUntilAt: 9e15 },
    { type: "renew", epoch: 1, leaseUntilAt: 9e15, ranMs: 0 },
    { type: "retry", epoch: 1, notBeforeAt: 5, ranMs: 7, statusMessage: "again", partialOutput: ["a"] },
    { type: "lease", runnerId: "r2", leaseUntilAt: 9e15, statusMessage: "try 2" },
    { type: "release", epoch: 2, ranMs: 8, statusMessage: "handed over" },
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    { type: "finish", epoch: 3, outcome: { kind: "threw", message: "no" } },
  ],
  [
    { type: "lease", runnerId: "r1", leaseUntilAt: 9e15 },
    { type: "finish", epoch: 1, outcome: { kind: "protocol_error", error: { code: -32602, message: "m", data: [1] } } },
  ],
  [{ type: "request_cancel" }, { type: "cancel", how: "still_running", error: "deaf", partialOutput: ["half"] }],
];

/** Leads a task through `life` and compares every step with what `applyChanges` makes of it. */
async function assertLife(context: CaseContext, life: readonly TaskEvent[]): Promise<void> {
  let task = await context.create();
  for (const event of life) {
    const move = transition(task, event, await context.now());
    assert("changes" in move, `${event.type} was refused`);
    const expected = JSON.parse(JSON.stringify(applyChanges(task, move.changes))) as TaskRecord;
    const next = await context.changed(task, move.changes);
    assert.deepEqual(next, expected, `what ${event.type} answered`);
    assert.deepEqual(await context.store.get(task.taskId), expected, `what is stored after ${event.type}`);
    task = next;
  }
}

/** Sends 20 updates from one version, spread over `stores`. */
export async function assertOneWinner(task: TaskRecord, stores: readonly TaskStore[]): Promise<void> {
  const updates = Array.from({ length: 20 }, (_, n) => {
    const store = stores[n % stores.length] as TaskStore;
    return store.update(task.taskId, task.version, { statusMessage: `update ${n}`, partialOutput: [n] });
  });
  const answers = await Promise.all(updates);
  const winners = answers.filter((answer) => answer !== "conflict");
  assert.equal(winners.length, 1, `${winners.length} of 20 updates from one version won`);
  for (const store of stores) assert.deepEqual(await store.get(task.taskId), winners[0]);
}

/** Adds one to a task's progress `times` over, trying again on every conflict. */
export async function increment(store: TaskStore, taskId: string, times: number): Promise<void> {
  for (let done = 0, tries = 0; done < times; tries += 1) {
    assert(tries < times * 100, "updates from the version just read go on being conflicts");
    const task = await store.get(taskId);
    assert(task !== null, "the task is gone");
    const progress = { current: (task.progress?.current ?? 0) + 1 };
    if ((await store.update(taskId, task.version, { progress })) !== "conflict") done += 1;
  }
}

/** Whoever looks while a task finishes sees all of the move or nothing of it. */
async function assertAtomicFinish(context: CaseContext): Promise<void> {
  const { store } = context;
  const before = await context.changed(await context.create(), { partialOutput: ["half"], statusMessage: "running" });
  const changes = { ...(await context.completion()), partialOutput: undefined, statusMessage: "done" };
  const after = applyChanges(before, changes);
  let finished = false;
  const finishing = store.update(before.taskId, before.version, changes).finally(() => {
    finished = true;
  });
  while (!finished) {
    const seen = await store.get(before.taskId);
    assert.deepEqual(seen, seen?.version === before.version ? before : after, "half an update was seen");
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(await finishing, after);
}
