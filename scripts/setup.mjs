/**
 * Makes a clone ready: the packages of the lock file, then the build. Does only what is missing, so every other script
 * begins with it. Uses nothing but Node, because it runs before anything is installed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./run.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** What has to be there before anything can be set up. */
const NEEDED_NODE = [20, 19];

/**
 * Installs and builds.
 * @throws Error that says which step failed and what helps
 */
export async function setUp() {
  checkNode();
  await install();
  await build();
}

/** Installs what the lock file names, unless exactly that is there. */
export async function install() {
  checkNode();
  if (isInstalled()) return;
  say("installing the packages of package-lock.json (npm ci)");
  // npm is a .cmd file on Windows, which only a shell starts.
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root, shell: process.platform === "win32" }).catch(
    (cause) => {
      throw new Error(`npm ci failed. Is the npm registry reachable from here? (${cause.message})`, { cause });
    },
  );
}

/** Builds every package; what has not changed is skipped by the compiler itself. */
export async function build() {
  if (!existsSync(join(root, "packages/cli/dist/index.js"))) say("building (tsc -b)");
  await run(process.execPath, [join(root, "node_modules/typescript-native/bin/tsc"), "-b"], { cwd: root }).catch(
    (cause) => {
      throw new Error(`the build failed (${cause.message}); the compiler's errors are above`, { cause });
    },
  );
}

export function say(line) {
  process.stderr.write(`claimcheck: ${line}\n`);
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [neededMajor, neededMinor] = NEEDED_NODE;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  throw new Error(`Node ${NEEDED_NODE.join(".")} or newer is needed, and this is ${process.versions.node}`);
}

/**
 * Compares what npm noted about node_modules with the lock file, not their times: a checkout touches the lock without
 * changing it. npm writes its note last, so an interrupted installation has none.
 */
function isInstalled() {
  const wanted = packagesOf(join(root, "package-lock.json"));
  const present = packagesOf(join(root, "node_modules/.package-lock.json"));
  return Object.entries(wanted).every(
    ([path, entry]) => !path.includes("node_modules/") || entry.optional || present[path]?.version === entry.version,
  );
}

function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : {};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setUp().catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
