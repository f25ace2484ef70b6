/** What vitest's JSON report and its exit code say together, in one line. */
import { existsSync, readFileSync } from "node:fs";

/** The report, or undefined when the run never wrote a whole one. */
export function readReport(file) {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * The closing line, the exit code that agrees with it, and what the counts alone would hide.
 *
 * Each failure counts once: a failed test, a file that could not be loaded, and whatever else made the run fail (an
 * unhandled rejection, a set-up that failed, no test at all), which no test of the report stands for.
 */
export function verdict(report, vitestExitCode) {
  const counts = countTests(report);
  const remarks = [];
  if (report === undefined) remarks.push("the run broke off before its report was written");
  else if (counts.passed + counts.failed === 0) remarks.push("no test ran");
  else if (vitestExitCode !== 0 && counts.failed === 0)
    remarks.push(`every test passed, yet vitest ended with ${vitestExitCode}; its errors are above`);
  if (remarks.length > 0) counts.failed += 1;
  remarks.push(...flaky(report));
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  return {
    line: `${counts.passed} passed, ${counts.failed} failed${skipped}`,
    exitCode: counts.failed > 0 ? 1 : 0,
    remarks,
  };
}

function countTests(report) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    for (const test of file.assertionResults) counts[countAs(test.status)] += 1;
    const noticed = file.assertionResults.some((test) => test.status === "failed");
    if (file.status === "failed" && !noticed) counts.failed += 1;
  }
  return counts;
}

/** What passed on a second try alone, with what the first one said: a fault all the same, of the test or of the product. */
function flaky(report) {
  const tests = (report?.testResults ?? []).flatMap((file) => file.assertionResults.map((test) => ({ file, ...test })));
  return tests
    .filter(({ status, failureMessages }) => status === "passed" && failureMessages.length > 0)
    .map(({ file, fullName, failureMessages }) => {
      return `passed on a second try alone: ${file.name} > ${fullName}\n${failureMessages.join("\n")}`;
    });
}

/** What is neither passed nor failed did not run: skipped, todo, or cut off by an error in a hook. */
function countAs(status) {
  return status === "passed" || status === "failed" ? status : "skipped";
}
