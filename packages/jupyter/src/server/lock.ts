/**
 * One piece of work at a time among the processes of a machine.
 *
 * The lock is a file that its holder keeps touching. It is stale once its holder is gone, or has not touched it for
 * {@link STALE_MS}: the process id alone would not do, because ids are reused and mean nothing in another container.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const STALE_MS = 30_000;
const TOUCH_MS = 5_000;
/** Watching a folder misses events on network file systems; looking five times a second costs nothing beside an install. */
const LOOK_MS = 200;

/**
 * Runs `work` while holding the lock at `path`, and waits for it as long as another process holds it.
 * @param onWait called once if somebody else holds it
 */
export async function withLock<T>(path: string, work: () => Promise<T>, onWait: () => void = () => {}): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const content = `${process.pid} ${randomUUID()}\n`;
  await acquire(path, content, onWait);
  const touching = setInterval(() => void touch(path), TOUCH_MS);
  touching.unref();
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await release(path, content);
  }
}

async function acquire(path: string, content: string, onWait: () => void): Promise<void> {
  for (let tries = 0; !(await create(path, content)); tries++) {
    if (await removeIfStale(path)) continue;
    if (tries === 0) onWait();
    await delay(LOOK_MS);
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** Moves the lock aside before removing it: of several processes that find it stale, only one can move it. */
async function removeIfStale(path: string): Promise<boolean> {
  const seen = await readIfThere(path);
  if (seen === undefined) return true;
  if (!(await isStale(path, seen))) return false;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isCode(error, "ENOENT")) return true;
    throw error;
  }
  await rm(aside, { force: true });
  return true;
}

async function isStale(path: string, content: string): Promise<boolean> {
  const touchedAt = await stat(path).then(
    (file) => file.mtimeMs,
    () => Date.now(),
  );
  if (Date.now() - touchedAt > STALE_MS) return true;
  const pid = Number.parseInt(content, 10);
  return Number.isInteger(pid) && !isAlive(pid);
}

/** Whether a process of this id runs on this machine, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

async function release(path: string, content: string): Promise<void> {
  if ((await readIfThere(path)) === content) await rm(path, { force: true });
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
