import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLock } from "../../src/server/lock.js";

let dir: string;
let path: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "claimcheck-lock-"));
  path = join(dir, "work.lock");
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

test("ten holders run one after the other", async () => {
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside--;
  };
  await Promise.all(Array.from({ length: 10 }, () => withLock(path, work)));
  expect(most).toBe(1);
});

test("the lock is free again after work that failed", async () => {
  await expect(withLock(path, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await withLock(path, async () => "done")).toBe("done");
  expect(await readdir(dir)).toEqual([]);
});

test("the lock of a process that is gone is taken over", async () => {
  // Linux and macOS number processes below 2^22.
  await writeFile(path, `${2 ** 22 + 1} crashed\n`);
  expect(await withLock(path, async () => "done")).toBe("done");
});

test("the lock of a reused process id is taken over once nobody touches it", async () => {
  await writeFile(path, `${process.pid} somebody else\n`);
  const long = new Date(Date.now() - 60_000);
  await utimes(path, long, long);
  expect(await withLock(path, async () => "done")).toBe("done");
});

test("whoever waits is told once", async () => {
  let told = 0;
  const waited = await withLock(path, async () => {
    let onWait = (): void => {};
    const waits = new Promise<void>((resolve) => (onWait = resolve));
    const waiting = withLock(
      path,
      async () => told,
      () => {
        told++;
        onWait();
      },
    );
    await waits;
    return { waiting };
  });
  expect(await waited.waiting).toBe(1);
});
