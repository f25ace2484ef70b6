import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { SqliteStore } from "../src/index.js";
import { scratchFolder } from "./scratch-folder.js";

const WRITES_NOTHING = "was removed or replaced while this process had it open";

/** Until whatever happens to the folder from now on bears another time than what has happened to it. */
async function nextTimeOf(folder: string): Promise<void> {
  const probe = join(scratchFolder(), "probe");
  await eventually(() => {
    writeFileSync(probe, "");
    return statSync(probe).ctimeMs > statSync(folder).ctimeMs;
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

// In a folder that has been let alone for a while, its own times tell whether anything was done to what is in it.
describe.each([0, 3_600_000])("a store whose files are taken from under it, %i ms after they came there", (ageMs) => {
  const systemNow = Date.now;

  async function openStore(path: string): Promise<SqliteStore> {
    const store = new SqliteStore({ path });
    await store.open();
    onTestFinished(() => store.close());
    await nextTimeOf(dirname(path));
    vi.spyOn(Date, "now").mockImplementation(() => systemNow() + ageMs);
    return store;
  }

  for (const suffix of ["", "-wal", "-shm"]) {
    test(`writes nothing while tasks.db${suffix} is away, and goes on once it is back`, async () => {
      const path = join(scratchFolder(), "tasks.db");
      const store = await openStore(path);
      const task = await store.create(workingTask());
      renameSync(path + suffix, `${path}.away`);
      const lost = workingTask();
      await expect(store.create(lost)).rejects.toThrow(`${path}${suffix} ${WRITES_NOTHING}`);
      await expect(store.update(task.taskId, 1, { statusMessage: "lost" })).rejects.toMatchObject({
        code: "store_unusable",
      });
      expect(await store.get(task.taskId)).toEqual(task);
      expect(await store.get(lost.taskId)).toBeNull();
      renameSync(`${path}.away`, path + suffix);
      expect(await store.create(lost)).toEqual(lost);
    });
  }

  test("writes nothing once another file is in its place", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const store = await openStore(path);
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await expect(store.create(workingTask())).rejects.toThrow(WRITES_NOTHING);
  });

  test("is watched behind a link, where SQLite keeps its other files beside what the link leads to", async () => {
    const folder = scratchFolder();
    const path = join(folder, "real.db");
    await (await openStore(path)).close();
    symlinkSync(path, join(folder, "link.db"));
    const store = await openStore(join(folder, "link.db"));
    await store.create(workingTask());
    expect(readdirSync(folder)).toContain("real.db-wal");
    renameSync(`${path}-wal`, `${path}.away`);
    await expect(store.create(workingTask())).rejects.toThrow(WRITES_NOTHING);
    renameSync(`${path}.away`, `${path}-wal`);
    await store.create(workingTask());
  });

  test("is watched where its link leads, and its folder's", async () => {
    const folder = scratchFolder();
    for (const name of ["a", "b"]) {
      mkdirSync(join(folder, name));
      await (await openStore(join(folder, name, "tasks.db"))).close();
    }
    for (const [link, target] of [
      ["file", "/tasks.db"],
      ["folder", ""],
    ] as const) {
      symlinkSync(join(folder, `a${target}`), join(folder, link));
      const store = await openStore(join(folder, link, link === "file" ? "" : "tasks.db"));
      await store.create(workingTask());
      rmSync(join(folder, link));
      symlinkSync(join(folder, `b${target}`), join(folder, link));
      await expect(store.create(workingTask())).rejects.toThrow(WRITES_NOTHING);
    }
  });

  test("is not taken for one by what other stores on the file do", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const store = await openStore(path);
    for (let n = 0; n < 3; n += 1) {
      const other = await openStore(path);
      await other.create(workingTask());
      await other.close();
      await store.create(workingTask());
    }
    expect((await store.list({ limit: 10 })).tasks).toHaveLength(6);
  });
});
