/**
 * `npm test`: every test, fast and live, on a clone that nothing has been done to yet. The last line says how it ended,
 * as `N passed, N failed`, also when the run could not begin or broke off; the exit code agrees with it.
 *
 * Arguments go to vitest: `npm test -- packages/core`.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exitCodeOf } from "./run.mjs";
import { root, say, setUp } from "./setup.mjs";
import { readReport, verdict } from "./test-report.mjs";

const reportFile = join(root, ".cache/test-report.json");

async function runTests(args) {
  mkdirSync(join(root, ".cache"), { recursive: true });
  rmSync(reportFile, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const exitCode = await exitCodeOf(process.execPath, [vitest, "run", ...reporters, ...args], { cwd: root });
  return verdict(readReport(reportFile), exitCode);
}

async function main() {
  try {
    await setUp();
  } catch (error) {
    say(`the tests could not begin: ${error.message}`);
    return verdict(undefined, 1);
  }
  return await runTests(process.argv.slice(2));
}

const { line, exitCode, remarks } = await main();
for (const remark of remarks) say(remark);
process.stdout.write(`${line}\n`);
process.exitCode = exitCode;
