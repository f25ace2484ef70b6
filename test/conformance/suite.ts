/**
 * The official conformance suite: installed apart from the workspace at its first use, since it needs a newer Node than
 * ours (it imports what Node 20 does not have), and run one scenario at a time.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Scenarios of the tasks extension, and those of the base protocol that tasks lean on. */
export const SCENARIOS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
  "http-header-validation",
  "dns-rebinding-protection",
  "server-initialize",
  "ping",
  "tools-list",
] as const;

export type Scenario = (typeof SCENARIOS)[number];

/** Checks that the suite skips whatever the server does, and why. Any other skip is a failure. */
export const SKIPPED_BY_THE_SUITE: Readonly<Record<string, string>> = {
  "tasks-status-notifications": "the suite's own check waits to be rewritten for subscriptions/listen",
};

/** One check of a scenario, as the suite reports it. */
export interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const folder = join(here, "../../.cache/conformance-tools");
/** The suite gives a scenario 30 s by itself. */
const SCENARIO_TIMEOUT_MS = 90_000;

/**
 * Installs the pinned suite, and the Node to run it with, if that has not been done.
 * @throws Error that says what npm said
 */
export async function ensureSuite(): Promise<void> {
  const lock = await readFile(join(here, "tools/package-lock.json"));
  const marker = join(folder, `installed-${createHash("sha256").update(lock).digest("hex").slice(0, 16)}`);
  if (existsSync(marker)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json"])
    await copyFile(join(here, "tools", file), join(folder, file));
  process.stderr.write("conformance: installing the suite and its Node\n");
  try {
    await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder, shell: process.platform === "win32" });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(`The conformance suite could not be installed: ${stderr?.trim() || message}`);
  }
  await writeFile(marker, "");
}

/** Runs one scenario against the server at `url`; {@link ensureSuite} comes first. */
export async function runScenario(url: string, scenario: Scenario): Promise<Check[]> {
  const output = await mkdtemp(join(tmpdir(), "claimcheck-conformance-"));
  try {
    const said = await runSuite(["server", "--url", url, "--scenario", scenario, "--output-dir", output]);
    const [results] = await readdir(output);
    if (results === undefined) throw new Error(`${scenario} came to no results: ${said}`);
    return JSON.parse(await readFile(join(output, results, "checks.json"), "utf8")) as Check[];
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

/** Its exit code says only whether a check failed, which its results say too. */
async function runSuite(args: string[]): Promise<string> {
  const modules = join(folder, "node_modules");
  const command = [join(modules, "@modelcontextprotocol/conformance/dist/index.js"), ...args];
  const options = { cwd: folder, timeout: SCENARIO_TIMEOUT_MS, maxBuffer: 2 ** 26 };
  return await run(join(modules, "node/bin/node"), command, options).then(
    ({ stderr }) => stderr,
    (error: { stderr?: string; message: string }) => error.stderr || error.message,
  );
}

/** What keeps a scenario from having passed; nothing when every check did. A scenario that checked nothing has not. */
export function failuresOf(checks: readonly Check[]): string[] {
  if (checks.length === 0) return ["no check was made"];
  return checks
    .filter(({ id, status }) => !(status === "SUCCESS" || status === "INFO" || isKnownSkip(id, status)))
    .map(({ id, status, errorMessage }) => `${id}: ${status}${errorMessage === undefined ? "" : ` (${errorMessage})`}`);
}

function isKnownSkip(id: string, status: Check["status"]): boolean {
  return status === "SKIPPED" && Object.hasOwn(SKIPPED_BY_THE_SUITE, id);
}
