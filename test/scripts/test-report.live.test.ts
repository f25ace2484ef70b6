/** Real runs of vitest that go wrong in every way we know: none may close with a line that reads like success. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readReport, verdict } from "../../scripts/test-report.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const passing = 'import { test } from "vitest"; test("passes", () => {});';

test("passed and failed tests are counted one by one", () => {
  const run = runVitest({
    "a.test.ts": `${passing} test("fails", () => { throw new Error("no"); });`,
    "b.test.ts": passing,
  });
  expect(run).toMatchObject({ line: "2 passed, 1 failed", exitCode: 1 });
});

test("skipped tests are told only when there are any", () => {
  expect(runVitest({ "a.test.ts": passing })).toEqual({ line: "1 passed, 0 failed", exitCode: 0, remarks: [] });
  const run = runVitest({ "a.test.ts": `${passing} test.skip("skipped", () => {}); test.todo("to do");` });
  expect(run).toMatchObject({ line: "1 passed, 0 failed, 2 skipped", exitCode: 0 });
});

test("a file that cannot be loaded counts as failed", () => {
  const run = runVitest({ "a.test.ts": passing, "b.test.ts": 'import "./missing.js";' });
  expect(run).toMatchObject({ line: "1 passed, 1 failed", exitCode: 1 });
});

test("a hook that throws counts as failed", () => {
  const hook = 'import { beforeAll } from "vitest"; beforeAll(() => { throw new Error("no"); });';
  const run = runVitest({ "a.test.ts": `${passing} ${hook}` });
  expect(run).toMatchObject({ line: "0 passed, 1 failed, 1 skipped", exitCode: 1 });
});

test("an unhandled rejection beside passing tests counts as failed", () => {
  const stray =
    'test("strays", async () => { void Promise.reject(new Error("stray")); await new Promise((r) => setTimeout(r, 20)); });';
  const run = runVitest({ "a.test.ts": `${passing} ${stray}` });
  expect(run).toMatchObject({ line: "2 passed, 1 failed", exitCode: 1 });
  expect(run.remarks).toEqual([expect.stringContaining("every test passed, yet vitest ended with 1")]);
});

test("a global set-up that throws counts as failed", () => {
  const run = runVitest({
    "a.test.ts": passing,
    "set-up.ts": 'export function setup() { throw new Error("no service"); }',
    "vitest.config.ts": 'export default { test: { globalSetup: ["set-up.ts"] } };',
  });
  expect(run).toMatchObject({ exitCode: 1, line: "0 passed, 1 failed" });
});

test("no test at all counts as failed", () => {
  expect(runVitest({})).toMatchObject({ line: "0 passed, 1 failed", exitCode: 1 });
});

test("a run that breaks off without a report counts as failed", () => {
  const run = runVitest({
    "a.test.ts": passing,
    "vitest.config.ts": "process.exit(0); export default {};",
  });
  expect(run).toMatchObject({ line: "0 passed, 1 failed", exitCode: 1 });
});

test("what passes on a second try alone is named, with what the first one said", () => {
  const once =
    'import { test } from "vitest"; let tries = 0; test("wavers", () => { if (tries++ === 0) throw new Error("not yet"); });';
  const retrying = { "vitest.config.ts": "export default { test: { retry: 1 } };" };
  const run = runVitest({ "a.test.ts": once, ...retrying });
  expect(run).toMatchObject({ line: "1 passed, 0 failed", exitCode: 0 });
  expect(run.remarks).toEqual([expect.stringMatching(/second try alone: .*a\.test\.ts > wavers\n.*not yet/)]);
  const twice = once.replace("=== 0", "<= 1");
  expect(runVitest({ "a.test.ts": twice, ...retrying })).toMatchObject({ line: "0 passed, 1 failed", remarks: [] });
});

/** Inside the repository, so that the files find vitest. */
function runVitest(files: Record<string, string>): ReturnType<typeof verdict> {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const dir = mkdtempSync(join(root, ".cache/test-report-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    // A configuration of its own keeps the repository's out.
    if (files["vitest.config.ts"] === undefined) writeFileSync(join(dir, "vitest.config.ts"), "export default {};");
    const report = join(dir, "report.json");
    const vitest = [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--root",
      dir,
      "--config",
      join(dir, "vitest.config.ts"),
    ];
    const reporters = ["--reporter=json", `--outputFile.json=${report}`];
    const { status } = spawnSync(process.execPath, [...vitest, ...reporters], { cwd: dir, env: environment() });
    return verdict(readReport(report), status ?? 1);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Without what the outer vitest tells its own workers. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_ENV|DEV|PROD|MODE)/.test(name)),
  );
}
