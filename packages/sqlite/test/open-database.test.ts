import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { TaskRecord } from "@claimcheck/core";
import { describe, expect, test } from "vitest";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { loadDriver } from "../src/driver.js";
import { SqliteStore } from "../src/index.js";
import { closeDatabase, openDatabase } from "../src/open-database.js";
import { scratchFolder, snapshot } from "./scratch-folder.js";

const driver = await loadDriver();

/** Makes a database of `sql` at `path`, closed again. */
function makeDatabase(path: string, sql: string): void {
  const database = new driver.DatabaseSync(path);
  database.exec(sql);
  database.close();
}

async function makeStore(path: string): Promise<void> {
  const store = new SqliteStore({ path });
  await store.open();
  await store.close();
}

/** Opening `path` is refused with `reason`, and leaves everything in `folder` as it was. */
async function expectRefused(folder: string, path: string, reason: RegExp): Promise<void> {
  const before = snapshot(folder);
  await expect(new SqliteStore({ path }).open()).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringMatching(reason),
  });
  expect(snapshot(folder)).toEqual(before);
}

/** A store with some tasks, closed; and a copy of its files as they were before, with the tasks in the log only. */
async function copyInUse(folder: string): Promise<{ path: string; copy: string; tasks: TaskRecord[] }> {
  const [path, copy] = [join(folder, "tasks.db"), join(folder, "copy.db")];
  const store = new SqliteStore({ path });
  await store.open();
  const records = Array.from({ length: 20 }, () => workingTask({ arguments: { text: "x".repeat(10_000) } }));
  const tasks = await Promise.all(records.map((record) => store.create(record)));
  for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, copy + suffix);
  await store.close();
  return { path, copy, tasks };
}

function writePage(path: string, page: Uint8Array): void {
  const file = openSync(path, "r+");
  writeSync(file, page, 0, page.length, 0);
  closeSync(file);
}

describe("a file that can't be the store's is refused and left as it was:", () => {
  test("one in a folder that is not there", async () => {
    const folder = scratchFolder();
    await expectRefused(folder, join(folder, "missing", "tasks.db"), /there is no folder .*missing.*Create it/);
  });

  test("one in what is no folder", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "file"), "");
    await expectRefused(folder, join(folder, "file", "tasks.db"), /there is no folder .*file/);
  });

  test("a folder", async () => {
    const folder = scratchFolder();
    mkdirSync(join(folder, "tasks.db"));
    await expectRefused(folder, join(folder, "tasks.db"), /is a folder; give the path of a file/);
  });

  test("a device", async () => {
    await expect(new SqliteStore({ path: "/dev/null" }).open()).rejects.toThrow("is not a regular file");
  });

  for (const bytes of [1, 5, 100, 512, 10_000]) {
    test(`${bytes} bytes of something else`, async () => {
      const folder = scratchFolder();
      const path = join(folder, "notes.txt");
      writeFileSync(path, "n".repeat(bytes));
      await expectRefused(folder, path, /is not an SQLite database|is another application's database/);
    });
  }

  test("another application's database", async () => {
    const folder = scratchFolder();
    const path = join(folder, "other.db");
    makeDatabase(path, "CREATE TABLE tasks (id INTEGER)");
    await expectRefused(folder, path, /is another application's database/);
  });

  test("another application's database with an id and a write-ahead log", async () => {
    const folder = scratchFolder();
    const path = join(folder, "other.db");
    const other = new driver.DatabaseSync(path);
    other.exec("PRAGMA application_id = 7; PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    try {
      await expectRefused(folder, path, /is another application's database/);
    } finally {
      other.close();
    }
  });

  test("the store of a newer version", async () => {
    const folder = scratchFolder();
    const path = join(folder, "tasks.db");
    await makeStore(path);
    makeDatabase(path, "PRAGMA user_version = 99");
    await expectRefused(folder, path, /newer version \(its schema is 99, this version knows \d+\); update/);
  });

  test("a store that somebody took a table from", async () => {
    const folder = scratchFolder();
    const path = join(folder, "tasks.db");
    await makeStore(path);
    makeDatabase(path, "DROP TABLE payloads");
    await expectRefused(folder, path, /cannot be opened: no such table: .*payloads/);
  });

  test("a store cut off after its header", async () => {
    const folder = scratchFolder();
    const path = join(folder, "tasks.db");
    await makeStore(path);
    truncateSync(path, 200);
    await expect(new SqliteStore({ path }).open()).rejects.toMatchObject({ code: "store_unusable" });
  });

  for (const path of [undefined, "", ":memory:", ":memory:?cache=shared", "a\0b"]) {
    test(`the path ${JSON.stringify(path)}`, () => {
      expect(() => new SqliteStore({ path: path as string })).toThrow(
        /needs the path of a file, not .* use MemoryStore/,
      );
    });
  }
});

describe("opening", () => {
  test("creates a file, and what lies beside it, for its owner alone", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const store = new SqliteStore({ path });
    await store.open();
    await store.create(workingTask());
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("waits for the disk on every commit, and keeps a write-ahead log", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const database = await openDatabase(driver, path, 1_000);
    expect(database.prepare("PRAGMA store.synchronous").get()).toMatchObject({ synchronous: 2 });
    expect(database.prepare("PRAGMA store.journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    closeDatabase(database);
  });

  test("takes an empty file, and leaves its permissions alone", async () => {
    const path = join(scratchFolder(), "tasks.db");
    writeFileSync(path, "", { mode: 0o640 });
    await makeStore(path);
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  test("takes a path that would mean something in a URL", async () => {
    const path = join(scratchFolder(), "50% ?mode=ro#tasks.db");
    await makeStore(path);
    await makeStore(path);
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  test("works for several that create the file at once", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const stores = Array.from({ length: 5 }, () => new SqliteStore({ path }));
    await Promise.all(stores.map((store) => store.open()));
    const task = workingTask();
    await stores[0]?.create(task);
    for (const store of stores) expect(await store.get(task.taskId)).toEqual(task);
    await Promise.all(stores.map((store) => store.close()));
  });

  test("works on what is left by a process that was killed", async () => {
    const folder = scratchFolder();
    const { copy, tasks } = await copyInUse(folder);
    const revived = new SqliteStore({ path: copy });
    await revived.open();
    for (const task of tasks) expect(await revived.get(task.taskId)).toEqual(task);
    await revived.close();
  });

  test("works on what is left by a process that was killed while it copied its log into the file", async () => {
    const folder = scratchFolder();
    const { path, copy, tasks } = await copyInUse(folder);
    // The first page has been copied, and counts pages that have not.
    writePage(copy, readFileSync(path).subarray(0, 4096));
    expect(readFileSync(copy).readUInt32BE(28) * 4096).toBeGreaterThan(statSync(copy).size);
    const revived = new SqliteStore({ path: copy });
    await revived.open();
    for (const task of tasks) expect(await revived.get(task.taskId)).toEqual(task);
    await revived.close();
  });

  test("can be tried again when what was wrong is mended", async () => {
    const folder = scratchFolder();
    const store = new SqliteStore({ path: join(folder, "later", "tasks.db") });
    await expect(store.open()).rejects.toThrow("there is no folder");
    mkdirSync(join(folder, "later"));
    await store.open();
    await store.close();
  });

  test("gives up the file when it is closed, log and all", async () => {
    const folder = scratchFolder();
    const store = new SqliteStore({ path: join(folder, "tasks.db") });
    await store.open();
    await store.create(workingTask());
    expect(readdirSync(folder).sort()).toEqual(["tasks.db", "tasks.db-shm", "tasks.db-wal"]);
    await store.close();
    expect(readdirSync(folder)).toEqual(["tasks.db"]);
  });

  test("and closing can follow one another in any order", async () => {
    const folder = scratchFolder();
    const store = new SqliteStore({ path: join(folder, "tasks.db") });
    await store.close();
    const opening = store.open();
    await store.close();
    await opening;
    await expect(store.get("tsk_x")).rejects.toMatchObject({ code: "not_open" });
    await store.open();
    const creating = store.create(workingTask());
    const closing = store.close();
    await expect(store.create(workingTask())).rejects.toMatchObject({ code: "not_open" });
    const { taskId } = await creating;
    await closing;
    await store.open();
    expect(await store.get(taskId)).not.toBeNull();
    await Promise.all([store.close(), store.open(), store.close(), store.close()]).catch(() => {});
    expect(readdirSync(folder)).toEqual(["tasks.db"]);
  });
});
