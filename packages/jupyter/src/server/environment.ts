/**
 * A virtual environment that holds exactly the Python packages asked for.
 *
 * It is complete or absent: the marker is written last, and whatever has none is built anew. Two processes that ask at
 * once build it once.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PrivateServerError } from "./errors.js";
import { withLock } from "./lock.js";
import { type CommandResult, runCommand } from "./run.js";

/** What to build, and where. */
export interface EnvironmentOptions {
  /** The environment's folder; whatever else lies there is replaced. */
  dir: string;
  /** As pip takes them, such as `ipykernel==7.4.0`. */
  requirements: readonly string[];
  /** The Python to build it with. Default: `python3`, then `python`. */
  basePython?: string;
  /** Told each step, in a line that can stand for as long as the step takes. Default: nobody. */
  onProgress?: (line: string) => void;
}

const VENV_TIMEOUT_MS = 120_000;
/** Some seventy wheels over a slow line; a stalled download gives up earlier by pip's own time-outs. */
const INSTALL_TIMEOUT_MS = 15 * 60_000;

/**
 * The Python of a complete environment, built first if need be.
 * @throws PrivateServerError `no_python` or `install_failed`
 */
export async function ensureEnvironment(options: EnvironmentOptions): Promise<string> {
  const python = environmentPython(options.dir);
  if (await isComplete(options)) return python;
  const progress = options.onProgress ?? (() => {});
  await withLock(
    `${options.dir}.lock`,
    async () => {
      if (!(await isComplete(options))) await build(options, progress);
    },
    () => progress("another process is installing the same environment; waiting for it"),
  );
  return python;
}

function environmentPython(dir: string): string {
  return process.platform === "win32" ? join(dir, "Scripts", "python.exe") : join(dir, "bin", "python");
}

function markerOf(dir: string): string {
  return join(dir, "claimcheck-environment.json");
}

/** Also asks the Python itself: a system upgrade removes the interpreter under an environment that looks whole. */
async function isComplete(options: EnvironmentOptions): Promise<boolean> {
  const marker = await readFile(markerOf(options.dir), "utf8").catch(() => undefined);
  if (marker !== markerContent(options)) return false;
  const { exitCode } = await runCommand([environmentPython(options.dir), "-c", ""], { timeoutMs: 30_000 });
  return exitCode === 0;
}

function markerContent(options: EnvironmentOptions): string {
  return `${JSON.stringify({ requirements: options.requirements })}\n`;
}

async function build(options: EnvironmentOptions, progress: (line: string) => void): Promise<void> {
  const base = await basePython(options);
  progress(`creating a Python environment in ${options.dir}`);
  await rm(options.dir, { recursive: true, force: true });
  await mkdir(options.dir, { recursive: true });
  await createVenv(base, options.dir);
  // Not pip's own lines: there are hundreds, and what is told here becomes the message of a task that somebody reads.
  progress(`installing ${options.requirements.join(", ")} with pip; it is needed once and takes a minute or more`);
  await installRequirements(options);
  await writeFile(markerOf(options.dir), markerContent(options));
}

async function basePython(options: EnvironmentOptions): Promise<string> {
  const candidates = options.basePython === undefined ? ["python3", "python"] : [options.basePython];
  for (const candidate of candidates) {
    const { exitCode } = await runCommand([candidate, "-c", "import sys; assert sys.version_info >= (3, 10)"], {
      timeoutMs: 30_000,
    });
    if (exitCode === 0) return candidate;
  }
  throw new PrivateServerError(
    "no_python",
    `A Jupyter Server needs Python 3.10 or newer, and ${candidates.join(" or ")} is none. ` +
      "Install Python, or name one that has jupyter_server in JUPYTER_PYTHON, or a running server in JUPYTER_URL.",
  );
}

async function createVenv(base: string, dir: string): Promise<void> {
  const result = await runCommand([base, "-m", "venv", dir], { timeoutMs: VENV_TIMEOUT_MS });
  if (result.exitCode === 0) return;
  throw installError(
    `${base} -m venv ${dir} failed`,
    result,
    "On Debian and Ubuntu, the package python3-venv is needed.",
  );
}

async function installRequirements(options: EnvironmentOptions): Promise<void> {
  const pip = [environmentPython(options.dir), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"];
  const command = [...pip, "--progress-bar", "off", ...options.requirements];
  const result = await runCommand(command, { timeoutMs: INSTALL_TIMEOUT_MS });
  if (result.exitCode === 0) return;
  throw installError(
    `pip could not install ${options.requirements.join(", ")}`,
    result,
    "Is the Python package index reachable from here? A pip configuration or PIP_INDEX_URL names another one.",
  );
}

function installError(what: string, result: CommandResult, remedy: string): PrivateServerError {
  const how = result.exitCode === null ? "did not run to its end" : `exit code ${result.exitCode}`;
  return new PrivateServerError("install_failed", `${what} (${how}). ${remedy} Its last words:\n${result.output}`);
}
