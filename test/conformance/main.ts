/** `npm run conformance`: every scenario, one line each, and what failed; exit code 1 unless all passed. */
import { startFixtureServer } from "./fixture-server.js";
import { type Check, ensureSuite, failuresOf, runScenario, SCENARIOS, SKIPPED_BY_THE_SUITE } from "./suite.js";

async function main(wanted: string[]): Promise<void> {
  const scenarios = SCENARIOS.filter((scenario) => wanted.length === 0 || wanted.includes(scenario));
  if (scenarios.length === 0) throw new Error(`no such scenario; there are: ${SCENARIOS.join(", ")}`);
  await ensureSuite();
  const server = await startFixtureServer();
  try {
    let failed = 0;
    for (const scenario of scenarios) {
      const checks = await runScenario(server.url, scenario);
      failed += report(scenario, checks);
    }
    say(failed === 0 ? `${scenarios.length} scenarios passed` : `${failed} checks failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await server.close();
  }
}

function report(scenario: string, checks: Check[]): number {
  const failures = failuresOf(checks);
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  say(`${failures.length === 0 ? "ok    " : "FAILED"} ${scenario}: ${passed} of ${checks.length} checks`);
  for (const failure of failures) say(`         ${failure}`);
  for (const { id, status } of checks) {
    if (status === "SKIPPED") say(`         ${id}: skipped; ${SKIPPED_BY_THE_SUITE[id] ?? "nobody knows why"}`);
  }
  return failures.length;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`conformance: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
