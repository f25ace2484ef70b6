/** The store that `docs/writing-a-store.md` shows in full is a store. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open as openFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { TaskStore } from "@claimcheck/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CaseContext, type StoreHarness, storeContract } from "../src/index.js";

type JournalStoreClass = new (options: {
  path: string;
  now: () => number;
}) => Required<Pick<TaskStore, "open" | "close">> & TaskStore;

const page = readFileSync(new URL("../../../docs/writing-a-store.md", import.meta.url), "utf8");

/** Imports the page's store. It is written to a folder of this repository, where its own imports are found. */
async function importFromPage(): Promise<JournalStoreClass> {
  const source = /<!-- journal-store\.mjs -->\n```js\n(.*?)```/s.exec(page)?.[1];
  if (source === undefined) throw new Error("the page shows no store");
  const folder = fileURLToPath(new URL("../../../.cache/docs/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "journal-store.mjs");
  writeFileSync(file, source);
  const module = (await import(pathToFileURL(file).href)) as { JournalStore: JournalStoreClass };
  return module.JournalStore;
}

const JournalStore = await importFromPage();

async function open(): Promise<StoreHarness & { path: string }> {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-journal-"));
  const path = join(folder, "tasks.jsonl");
  let nowMs = Date.now();
  const openStore = async () => {
    const store = new JournalStore({ path, now: () => nowMs });
    await store.open();
    return store;
  };
  let store = await openStore();
  return {
    path,
    store,
    now: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
    reopen: async () => {
      await store.close();
      store = await openStore();
      return store;
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

describe("the store that the guide shows", () => {
  storeContract({ test, open, without: ["signals", "openAnother", "outage"] });

  test("goes on after a crash that cut its last line off", async () => {
    const harness = await open();
    const context = new CaseContext(harness, { ttlMs: 1, signalWithinMs: 1, largestValueBytes: 1, outageWithinMs: 1 });
    const task = await context.create();
    appendFileSync(harness.path, '{"taskId":"tsk_half');
    const store = await context.reopen();
    const next = await context.create({}, store);
    expect((await store.list({ limit: 9 })).tasks).toHaveLength(2);
    const again = await context.reopen();
    expect([await again.get(task.taskId), await again.get(next.taskId)]).toEqual([task, next]);
    await harness.close();
  });

  test("has not made a change that the disk did not take, and makes the next one", async () => {
    const harness = await open();
    const context = new CaseContext(harness, { ttlMs: 1, signalWithinMs: 1, largestValueBytes: 1, outageWithinMs: 1 });
    const task = await context.create();
    const full = await fullDisk(harness.path);
    await expect(context.create({ idempotencyKey: "key" })).rejects.toThrow("no space");
    await expect(harness.store.update(task.taskId, 1, { statusMessage: "?" })).rejects.toThrow("no space");
    expect((await harness.store.list({ limit: 9 })).tasks.map(({ taskId }) => taskId)).toEqual([task.taskId]);
    expect(await harness.store.get(task.taskId)).toEqual(task);
    full.mockRestore();
    const next = await context.create({ idempotencyKey: "key" });
    const changed = await harness.store.update(task.taskId, 1, { statusMessage: "!" });
    const again = await context.reopen();
    expect([await again.get(task.taskId), await again.get(next.taskId)]).toEqual([changed, next]);
    await harness.close();
  });
});

/** Has every append fail when all but the end has been written. */
async function fullDisk(path: string) {
  const file = await openFile(path);
  const handles: FileHandle = Object.getPrototypeOf(file);
  await file.close();
  const appends = vi.spyOn(handles, "appendFile").mockImplementation(async (text) => {
    appendFileSync(path, String(text).slice(0, -5));
    throw new Error("no space left on the device");
  });
  onTestFinished(() => appends.mockRestore());
  return appends;
}

test("the guide names every option of the contract", () => {
  for (const option of [
    "without",
    "ttlMs",
    "signalWithinMs",
    "outageWithinMs",
    "largestValueBytes",
    "groups",
    "excused",
  ]) {
    expect(page).toMatch(new RegExp(`^\\| \`${option}\\b`, "m"));
  }
});
