import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";

/** A folder of the test's own, removed when the test is over. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-sqlite-"));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Every file of `folder`: its name, bytes, permissions and the instant of its last change. */
export function snapshot(folder: string): unknown {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { mtimeNs, mode, size } = statSync(path, { bigint: true });
      return { name, mtimeNs, mode, size, bytes: statSync(path).isFile() ? readFileSync(path).toString("base64") : "" };
    });
}
