import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { deploymentOf } from "../src/deployment.js";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "claimcheck-deployment-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const warnings: string[] = [];
const logger = {
  debug() {},
  info() {},
  error() {},
  warn: (_fields: object, message: string) => void warnings.push(message),
};
const PLACE = { cwd: "/a", homeDir: "/home/ann" };
const nameOf = (store: string, stateDir: string, place = PLACE) => deploymentOf({ store, stateDir }, place, logger);

test("is the same for every server of one installation on one store, wherever it is started from", async () => {
  const stateDir = join(folder(), "below", "claimcheck");
  const all = await Promise.all(Array.from({ length: 20 }, () => nameOf("sqlite:/a/tasks.db", stateDir)));
  expect(new Set(all).size).toBe(1);
  expect(all[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(await nameOf("sqlite:tasks.db", stateDir)).toBe(all[0]);
  expect(await nameOf("sqlite:../a/tasks.db", stateDir, { ...PLACE, cwd: "/b" })).toBe(all[0]);
  expect(readdirSync(stateDir)).toEqual(["installation"]);
});

test("is that of the module that a path leads to, for a store of one's own", async () => {
  const stateDir = folder();
  const [there, here, elsewhere, byPackage] = await Promise.all([
    nameOf("/a/stores.mjs:Store", stateDir),
    nameOf("./stores.mjs:Store", stateDir),
    nameOf("./stores.mjs:Store", stateDir, { ...PLACE, cwd: "/b" }),
    nameOf("my-stores:Store", stateDir),
  ]);
  expect(here).toBe(there);
  expect(new Set([here, elsewhere, byPackage]).size).toBe(3);
});

test("is another for another store, and for another installation with stores of the same names", async () => {
  const [one, other] = [folder(), folder()];
  const stores = ["sqlite:/a/tasks.db", "sqlite:/b/tasks.db", "postgres://u:secret@localhost/a", "redis://localhost"];
  const names = await Promise.all([one, other].flatMap((stateDir) => stores.map((store) => nameOf(store, stateDir))));
  expect(new Set(names).size).toBe(8);
  expect(names.join()).not.toContain("secret");
});

test("is the same with another user and password for the store, which change while a kernel waits to be found again", async () => {
  const stateDir = folder();
  const sameStores = [
    [
      "postgres://db/a",
      "postgres://ann:one@db/a",
      "postgres://bob:t%40o@db/a",
      "postgres://db/a?user=ann&password=one",
    ],
    ["rediss://cache/1", "rediss://:one@cache/1", "valkeys://ann:two@cache/1"],
  ];
  for (const stores of sameStores) {
    const names = await Promise.all(stores.map((store) => nameOf(store, stateDir)));
    expect(new Set(names).size).toBe(1);
  }
});

test("is none on the memory store, which no server comes back to, and nothing is written for it", async () => {
  const stateDir = folder();
  expect(await nameOf("memory", stateDir)).toBeUndefined();
  expect(readdirSync(stateDir)).toEqual([]);
});

test("is none where the installation cannot be named, which is said and stops nothing", async () => {
  const stateDir = join(folder(), "taken");
  writeFileSync(stateDir, "a file");
  expect(await nameOf("sqlite:/a/tasks.db", stateDir)).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining("not found again")]);
});
