import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { chmodSync, chownSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { loadDriver } from "../src/driver.js";
import { SqliteStore } from "../src/index.js";
import { scratchFolder, snapshot } from "./scratch-folder.js";

const SCRIPT = fileURLToPath(new URL("store-process.mjs", import.meta.url));

type Line = Record<string, unknown>;

interface StoreProcess {
  child: ChildProcess;
  lines: AsyncIterableIterator<string>;
}

const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

function start(path: string, mode: string, name: string, options: SpawnOptions = {}): StoreProcess {
  const stdio: SpawnOptions["stdio"] = ["pipe", "pipe", "inherit"];
  const child = spawn(process.execPath, [SCRIPT, path, mode, name], { stdio, ...options });
  started.push(child);
  if (child.stdout === null) throw new Error("the process has no output");
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function nextLine({ lines }: StoreProcess): Promise<Line> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error("the process ended without a word");
  return JSON.parse(String(value)) as Line;
}

async function openStore(path: string): Promise<SqliteStore> {
  const store = new SqliteStore({ path });
  await store.open();
  return store;
}

describe("processes that share a file", () => {
  test("make one record a key, lose no update and never see the lock", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const store = await openStore(path);
    await store.create(workingTask({ taskId: "counter" }));
    const processes = [start(path, "contend", "a"), start(path, "contend", "b")];
    await Promise.all(processes.map(nextLine));
    for (const { child } of processes) child.stdin?.write("go");
    const [a, b] = await Promise.all(processes.map(nextLine));
    expect([a?.error, b?.error]).toEqual([undefined, undefined]);
    expect(a?.ids).toEqual(b?.ids);
    const makers = new Set(Object.values(a?.ids as Record<string, string>).map((taskId) => taskId.slice(0, 1)));
    expect(makers, "the two did not meet").toEqual(new Set(["a", "b"]));

    expect((await store.get("counter"))?.progress).toEqual({ current: 400 });
    expect((await store.get("counter"))?.version).toBe(401);
    const swept = Number(a?.swept) + Number(b?.swept) + (await store.sweep(1_000));
    expect(swept).toBe(400);
    expect((await store.list({ limit: 10_000 })).tasks).toHaveLength(501);
    await store.close();
  });

  test("hear of each other's changes", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const store = await openStore(path);
    const listener = start(path, "listen", "a");
    expect(await nextLine(listener)).toEqual({ ready: true });
    await store.create(workingTask());
    expect(await nextLine(listener)).toEqual({ heard: null });
    await store.close();
  });

  test("outlive a file that something else cut short: what cannot be read any more is an error", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const reader = start(path, "read", "a");
    expect(await nextLine(reader)).toEqual({ ready: true });
    truncateSync(path, 64 * 1024);
    reader.child.stdin?.write("go");
    expect((await nextLine(reader)).failed).toBeGreaterThan(100);
  });

  test("may be killed while they write: what was acknowledged is there, and the file is sound", async () => {
    const path = join(scratchFolder(), "tasks.db");
    const acknowledged = new Map<unknown, unknown>();
    for (const [round, name] of ["a", "b", "c", "d"].entries()) {
      const writer = start(path, "write", name);
      for (let line = 0; line < 150 + 37 * round; line += 1) {
        const { taskId, version } = await nextLine(writer);
        acknowledged.set(taskId, version);
      }
      writer.child.kill("SIGKILL");
      // What was printed before the end counts as well.
      for await (const line of writer.lines) {
        const { taskId, version } = JSON.parse(line) as Line;
        acknowledged.set(taskId, version);
      }
    }
    const store = await openStore(path);
    for (const [taskId, version] of acknowledged) {
      const task = await store.get(String(taskId));
      expect(task?.version, String(taskId)).toBeGreaterThanOrEqual(Number(version));
      if (task?.version === 2)
        expect(task).toMatchObject({ statusMessage: "changed", partialOutput: ["x".repeat(2_000)] });
      expect((await store.findByKey("owner", String(taskId)))?.taskId).toBe(taskId);
    }
    await store.close();
    const { DatabaseSync } = await loadDriver();
    const file = new DatabaseSync(path);
    expect(file.prepare("PRAGMA integrity_check").get()).toMatchObject({ integrity_check: "ok" });
    file.close();
  });
});

describe("a process that may not write", () => {
  // Permissions do not bind root, so the process is another user's where this one is root's.
  const another = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

  async function madeStore(): Promise<{ folder: string; path: string }> {
    const folder = scratchFolder();
    const path = join(folder, "tasks.db");
    await (await openStore(path)).close();
    if (another.uid !== undefined) for (const place of [folder, path]) chownSync(place, another.uid, another.gid);
    return { folder, path };
  }

  test("opens a file that it may write", async () => {
    const { path } = await madeStore();
    expect(await nextLine(start(path, "open", "a", another))).toEqual({ opened: true });
  });

  test("is told that the file is read-only, which stays as it was", async () => {
    const { folder, path } = await madeStore();
    chmodSync(path, 0o400);
    const before = snapshot(folder);
    expect(await nextLine(start(path, "open", "a", another))).toEqual({
      code: "store_unusable",
      error: expect.stringContaining("is not readable and writable by this process; change its permissions"),
    });
    expect(snapshot(folder)).toEqual(before);
  });

  test("is told that the folder is read-only, whose files stay as they were", async () => {
    const { folder, path } = await madeStore();
    chmodSync(folder, 0o500);
    const before = snapshot(folder);
    expect(await nextLine(start(path, "open", "a", another))).toEqual({
      code: "store_unusable",
      error: expect.stringContaining(`this process may not write to ${folder}`),
    });
    expect(snapshot(folder)).toEqual(before);
  });
});
