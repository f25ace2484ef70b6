import { join } from "node:path";
import type { TaskRecord } from "@claimcheck/core";
import { describe, expect, test } from "vitest";
import { completion, workingTask } from "../../../test/fixtures/working-task.js";
import { type Database, loadDriver } from "../src/driver.js";
import { SqliteStore } from "../src/index.js";
import { scratchFolder } from "./scratch-folder.js";

const driver = await loadDriver();

/** An open store, and a hand of our own on its file. Both are closed when `use` is done. */
async function withStore(
  use: (store: SqliteStore, file: Database, path: string) => Promise<void>,
  options = {},
): Promise<void> {
  const path = join(scratchFolder(), "tasks.db");
  const store = new SqliteStore({ path, ...options });
  await store.open();
  const file = new driver.DatabaseSync(path);
  try {
    await use(store, file, path);
  } finally {
    file.close();
    await store.close();
  }
}

const LARGE = "large ".repeat(1_000);

const count = (file: Database, table: string): unknown =>
  (file.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;

describe("the SQLite store", () => {
  test("a change of status rewrites no large payload", () =>
    withStore(async (store, file) => {
      const task = await store.create(workingTask({ arguments: { text: LARGE } }));
      const busy = await store.update(task.taskId, 1, { partialOutput: [LARGE], checkpoint: LARGE });
      file.exec(`
        CREATE TRIGGER no_update BEFORE UPDATE ON payloads BEGIN SELECT RAISE(ABORT, 'payload rewritten'); END;
        CREATE TRIGGER no_insert BEFORE INSERT ON payloads BEGIN SELECT RAISE(ABORT, 'payload written'); END;
      `);
      const changes = { status: "input_required", statusMessage: "?", progress: { current: 1 } } as const;
      expect(await store.update(task.taskId, 2, changes)).toEqual({ ...(busy as object), ...changes, version: 3 });
      await expect(store.update(task.taskId, 3, { partialOutput: [LARGE] })).rejects.toThrow("payload");
    }));

  test("a change of status reads no large payload", () =>
    withStore(async (store, file) => {
      const task = await store.create(workingTask({ arguments: { text: LARGE } }));
      const busy = await store.update(task.taskId, 1, { checkpoint: LARGE });
      file.exec("DROP TRIGGER payloads_go_with_their_task; DROP TABLE payloads");
      const changes = { status: "input_required", statusMessage: "?" } as const;
      expect(await store.update(task.taskId, 2, changes)).toEqual({ ...(busy as object), ...changes, version: 3 });
    }));

  test.each([{ createdAt: 2 }, { owner: "another owner" }])(
    "a change of a task whose id another one has taken since is a conflict, and changes nothing: %o",
    (other) =>
      withStore(async (store, file, path) => {
        const task = await store.create(workingTask({ createdAt: 1 }));
        file.exec("DELETE FROM tasks");
        const elsewhere = new SqliteStore({ path });
        await elsewhere.open();
        const taken = await elsewhere.create({ ...task, ...other });
        await elsewhere.close();
        expect(await store.update(task.taskId, 1, { statusMessage: "of the old one" })).toBe("conflict");
        expect(await store.get(task.taskId)).toEqual(taken);
      }),
  );

  test("a listing reads no large payload", () =>
    withStore(async (store, file) => {
      const task = await store.create(workingTask({ arguments: { text: LARGE } }));
      file.exec("DROP TRIGGER payloads_go_with_their_task; DROP TABLE payloads");
      expect((await store.list({ limit: 9 })).tasks.map(({ taskId }) => taskId)).toEqual([task.taskId]);
      await expect(store.get(task.taskId)).rejects.toThrow();
    }));

  test("a payload survives that grows, shrinks and goes, and leaves nothing behind", () =>
    withStore(async (store, file) => {
      let task: TaskRecord = await store.create(workingTask());
      for (const checkpoint of ["small", LARGE, `${LARGE}!`, "small", LARGE, undefined, "small", undefined]) {
        const next = await store.update(task.taskId, task.version, { checkpoint });
        if (next === null || next === "conflict") throw new Error("the update failed");
        expect(next.checkpoint).toBe(checkpoint);
        expect(await store.get(task.taskId)).toEqual(next);
        expect(count(file, "payloads")).toBe(checkpoint?.startsWith(LARGE) ? 1 : 0);
        task = next;
      }
    }));

  test("sweeping leaves nothing of a task behind", () =>
    withStore(async (store, file) => {
      for (let n = 0; n < 250; n += 1) {
        const task = await store.create(workingTask({ ttlMs: 0, idempotencyKey: `key ${n}` }));
        await store.update(task.taskId, 1, { ...completion(), partialOutput: [LARGE], checkpoint: LARGE });
      }
      const live = await store.create(workingTask({ arguments: { text: LARGE } }));
      expect(await store.sweep(1_000)).toBe(250);
      expect([count(file, "tasks"), count(file, "payloads")]).toEqual([1, 1]);
      expect(await store.get(live.taskId)).toEqual(live);
    }));

  test("a task whose row was deleted by hand is gone with its payloads, and its key is free", () =>
    withStore(async (store, file) => {
      const task = await store.create(workingTask({ idempotencyKey: "key", arguments: { text: LARGE } }));
      expect(count(file, "payloads")).toBe(1);
      file.exec("DELETE FROM tasks");
      expect(count(file, "payloads")).toBe(0);
      expect(await store.get(task.taskId)).toBeNull();
      const next = workingTask({ idempotencyKey: "key" });
      expect(await store.create(next)).toEqual(next);
    }));

  test("a task whose result was deleted by hand is an error, not an empty result", () =>
    withStore(async (store, file) => {
      const task = await store.create(workingTask());
      const outcome = { kind: "result", result: { text: LARGE } } as const;
      await store.update(task.taskId, 1, { ...completion(), outcome });
      file.exec("DELETE FROM payloads");
      await expect(store.get(task.taskId)).rejects.toThrow(
        `${task.taskId} is incomplete: somebody removed its outcome`,
      );
    }));

  test("the id of an expired task can be taken, and none of the old one is left", () =>
    withStore(async (store) => {
      const old = await store.create(workingTask({ ttlMs: 0, idempotencyKey: "old" }));
      await store.update(old.taskId, 1, { ...completion(), partialOutput: [LARGE] });
      const next = workingTask({ taskId: old.taskId, idempotencyKey: "next" });
      expect(await store.create(next)).toEqual(next);
      expect(await store.get(next.taskId)).toEqual(next);
      expect(await store.findByKey("ada", "old")).toBeNull();
    }));

  test("a lock that another process holds for a while delays a write and blocks nothing else", () =>
    withStore(async (store, file) => {
      file.exec("BEGIN IMMEDIATE");
      const task = workingTask();
      let created = false;
      const creating = store.create(task).then(() => {
        created = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 120));
      expect(await store.get(task.taskId)).toBeNull();
      expect(created).toBe(false);
      file.exec("COMMIT");
      await creating;
      expect(await store.get(task.taskId)).toEqual(task);
    }));

  test("a lock that is not let go of is a rejection that changes nothing", () =>
    withStore(
      async (store, file) => {
        file.exec("BEGIN IMMEDIATE");
        const task = workingTask();
        await expect(store.create(task)).rejects.toThrow("locked");
        file.exec("COMMIT");
        expect(await store.get(task.taskId)).toBeNull();
        expect(await store.create(task)).toEqual(task);
      },
      { busyTimeoutMs: 20 },
    ));

  for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    test(`a listing of ${limit} tasks is refused`, () =>
      withStore(async (store) => {
        await expect(store.list({ limit })).rejects.toThrow("a whole number of at least 1");
      }));
  }
});
