import assert from "node:assert/strict";
import type { TaskPage, TaskRecord } from "@claimcheck/core";
import { isTaskError, summarize } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import { type CaseContext, newTaskId } from "../case-context.js";

const FOLLOW =
  "Following the cursor shows every task that was there throughout exactly once, whatever is created or removed meanwhile";

export const listingCases: CaseGroup = {
  name: "listing",
  cases: [
    promised("Records without their payloads, newest first", async (context) => {
      const tasks = await severalTasks(context);
      const page = await context.store.list({ limit: 100 });
      assert.deepEqual(page.tasks, tasks.map(summarize).reverse());
    }),
    promised("The order is total: by `createdAt`, then by `taskId`, both descending", async (context) => {
      const now = await context.now();
      const ids = ["tsk_a", "tsk_B", "tsk_b", "tsk_-", "tsk__", "tsk_0", "tsk_aa", "tsk_Z"];
      for (const taskId of ids) await context.create({ taskId, createdAt: now });
      const newest = await context.create({ taskId: "a", createdAt: now + 1 });
      const oldest = await context.create({ taskId: "z", createdAt: now - 1 });
      const order = [newest.taskId, ...ids.sort(byCharacterCode).reverse(), oldest.taskId];
      for (const limit of [1, 3, 100]) assert.deepEqual(await context.listAll({}, limit), order, `pages of ${limit}`);
    }),
    promised("Only this owner's tasks", async (context) => {
      const mine = [await context.create({ owner: "ada" }), await context.create({ owner: "ada" })];
      await context.create({ owner: "ad" });
      await context.create({ owner: "adam" });
      assert.deepEqual(new Set(await context.listAll({ owner: "ada" }, 1)), new Set(mine.map((task) => task.taskId)));
      assert.deepEqual(await context.listAll({ owner: "nobody" }), []);
      assert.deepEqual(await context.listAll({ owner: "" }), []);
    }),
    promised("Absent: everybody's (operators and recovery)", async (context) => {
      const tasks = [await context.create({ owner: "ada" }), await context.create({ owner: "bob" })];
      assert.deepEqual(new Set(await context.listAll({}, 1)), new Set(tasks.map((task) => task.taskId)));
    }),
    promised("Only tasks that have not finished (recovery)", async (context) => {
      const live = [await context.create({ owner: "ada" }), await context.create({ owner: "bob" })];
      const asked = await context.create({ owner: "bob" });
      live.push(await context.changed(asked, { status: "input_required" }));
      for (const owner of ["ada", "bob"]) await context.finish(await context.create({ owner }));
      const unfinished = new Set(live.map((task) => task.taskId));
      assert.deepEqual(new Set(await context.listAll({ unfinished: true }, 1)), unfinished);
      assert.deepEqual(await context.listAll({ unfinished: true, owner: "ada" }), [live[0]?.taskId]);
      assert.equal((await context.listAll({ unfinished: false })).length, 5);
    }),
    promised("How many at the most; a whole number of at least 1", async (context) => {
      for (let n = 0; n < 5; n += 1) await context.create();
      for (const limit of [1, 4, 5, 1_000, 2 ** 31]) {
        const { tasks } = await context.store.list({ limit });
        assert.equal(tasks.length, Math.min(limit, 5), `a limit of ${limit}`);
      }
    }),
    promised("Absent on the last page", async (context) => {
      assert.deepEqual(await context.store.list({ limit: 2 }), { tasks: [] });
      for (let n = 0; n < 4; n += 1) await context.create();
      const first = await context.store.list({ limit: 2 });
      assert.equal(typeof first.nextCursor, "string");
      const last = await context.store.list({ limit: 2, cursor: String(first.nextCursor) });
      assert.equal(last.tasks.length, 2);
      assert(!("nextCursor" in last), "a full last page carries a cursor to nothing");
    }),
    promised(FOLLOW, async (context) => {
      const { stay, leave } = await crowd(context);
      const seen = await follow(context, async (round) => {
        await context.create({ createdAt: await context.now() });
        await context.create({ createdAt: stay[0]?.createdAt ?? 0 });
        if (round === 1) await remove(context, leave);
      });
      assert.equal(new Set(seen).size, seen.length, "a task was shown twice");
      const shown = new Set(seen);
      for (const task of stay) assert(shown.has(task.taskId), "a task that was there throughout was left out");
    }),
    promised(
      FOLLOW,
      async (context) => {
        const { stay, leave } = await crowd(context);
        const first = await context.store.list({ limit: 10 });
        await remove(context, [...leave]);
        const rest = await follow(context, undefined, first);
        const shown = new Set(rest);
        for (const task of stay) assert(shown.has(task.taskId), "a task that was there throughout was left out");
      },
      { detail: "also when what the cursor stands on is gone" },
    ),
    promised(
      FOLLOW,
      async (context) => {
        const tasks = (await crowd(context)).stay;
        const seen = await follow(context, async (round) => {
          const oldest = tasks[round] as TaskRecord;
          await context.advance(1);
          await context.finish(oldest, { finishedAt: (await context.now()) + context.ttlMs });
        });
        assert.equal(new Set(seen).size, seen.length, "a task was shown twice");
        for (const task of tasks) assert(seen.includes(task.taskId), "a task that changed was left out");
      },
      { detail: "and changes move nothing" },
    ),
    promised("Rejects a cursor that it did not make with a `TaskError` of code `invalid_cursor`", async (context) => {
      for (let n = 0; n < 3; n += 1) await context.create();
      const genuine = String((await context.store.list({ limit: 1 })).nextCursor);
      for (const cursor of [...FORGED_CURSORS, genuine.slice(0, -2), `${genuine}!`, ` ${genuine}`]) {
        await assert.rejects(
          context.store.list({ limit: 1, cursor }),
          (error) => isTaskError(error) && error.code === "invalid_cursor",
          `the cursor ${JSON.stringify(cursor.slice(0, 60))} was taken`,
        );
      }
      assert.equal((await context.store.list({ limit: 10, cursor: genuine })).tasks.length, 2);
    }),
  ],
};

const base64url = (text: string): string => Buffer.from(text).toString("base64url");
const FORGED_CURSORS = [
  "",
  "0",
  "10",
  "nonsense",
  "tsk_unknown",
  "' OR 1=1 --",
  "\0",
  "🧾",
  "__proto__",
  base64url("{}"),
  base64url("[]"),
  base64url("null"),
  base64url('["1","2","3"]'),
  "x".repeat(10_000),
];

const byCharacterCode = (a: string, b: string): number => (a < b ? -1 : 1);

/** One stored task in every condition that a listing shows, oldest first. */
async function severalTasks(context: CaseContext): Promise<TaskRecord[]> {
  const createdAt = await context.now();
  const live = await context.create({
    createdAt,
    idempotencyKey: "key",
    fingerprint: "f",
    request: { sessionId: "s" },
  });
  const outputs = { partialOutput: ["x"], checkpoint: { y: 1 }, progress: { current: 1 }, statusMessage: "half way" };
  const asked = { key: "q", method: "elicitation/create", params: { message: "?" }, askedAt: 1 };
  const busy = await context.create({ createdAt: createdAt + 1, owner: "other" });
  const failed = await context.create({ createdAt: createdAt + 2 });
  const cancelled = await context.create({ createdAt: createdAt + 3 });
  const completed = await context.create({ createdAt: createdAt + 4 });
  const { outcome: _outcome, ...ending } = await context.completion();
  return [
    live,
    await context.changed(busy, { ...outputs, status: "input_required", questions: [asked] }),
    await context.changed(failed, { ...ending, status: "failed", outcome: { kind: "threw", message: "no" } }),
    await context.changed(cancelled, { ...ending, status: "cancelled", partialOutput: ["half"] }),
    await context.finish(completed),
  ];
}

/** 55 tasks of one instant, ten of which can be removed: their ids are spread over the others'. */
async function crowd(context: CaseContext): Promise<{ stay: TaskRecord[]; leave: TaskRecord[] }> {
  const createdAt = await context.now();
  const stay: TaskRecord[] = [];
  const leave: TaskRecord[] = [];
  const ids = Array.from({ length: 55 }, newTaskId).sort(byCharacterCode);
  for (const [n, taskId] of ids.entries()) {
    // From the newest on: the tenth, which ends the first page, the eleventh, and so on by twos.
    const leaves = [45, 44, 43, 30, 29, 20, 10, 9, 1, 0].includes(n);
    (leaves ? leave : stay).push(await context.create({ taskId, createdAt }));
  }
  await context.advance(1);
  return { stay, leave };
}

/** Ends `tasks` and lets them expire; the rest go on running. */
async function remove(context: CaseContext, tasks: readonly TaskRecord[]): Promise<void> {
  for (const task of tasks) await context.finish(task);
  await context.passTtl();
  await context.sweepAll();
}

/** The ids of a listing in pages of 10, with something happening between them. */
async function follow(
  context: CaseContext,
  between?: (round: number) => Promise<void>,
  from?: TaskPage,
): Promise<string[]> {
  let page = from ?? (await context.store.list({ limit: 10 }));
  const seen = page.tasks.map((task) => task.taskId);
  for (let round = 0; page.nextCursor !== undefined; round += 1) {
    await between?.(round);
    assert(round < 100, "the listing does not end");
    page = await context.store.list({ limit: 10, cursor: page.nextCursor });
    seen.push(...page.tasks.map((task) => task.taskId));
  }
  return seen;
}
