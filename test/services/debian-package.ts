/** Installs what a service needs from Debian's packages. What cannot be installed fails the run; nothing is skipped. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How long another installation on this machine is waited for. */
const LOCK_TIMEOUT_S = 300;

/**
 * Makes sure that `find` finds its program, by installing `name` if it does not.
 *
 * @throws Error that names the package and says what the installer said
 */
export async function ensureDebianPackage<T>(name: string, find: () => Promise<T | undefined>): Promise<T> {
  const present = await find();
  if (present !== undefined) return present;
  process.stderr.write(`services for the tests: installing ${name}\n`);
  try {
    await aptGet("update", "-qq");
    await aptGet("install", "-y", "--no-install-recommends", name);
  } catch (error) {
    throw new Error(`The Debian package ${name}, which the live tests need, cannot be installed: ${describe(error)}`);
  }
  const installed = await find();
  if (installed === undefined) throw new Error(`The Debian package ${name} was installed, but its program is missing.`);
  return installed;
}

async function aptGet(...args: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["-o", `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`, ...args], { env, maxBuffer: 2 ** 26 });
}

function describe(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return stderr?.trim().split("\n").at(-1) || message;
}
