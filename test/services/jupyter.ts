/**
 * The real Jupyter Server that the live tests run against: current pinned versions in an environment of the
 * repository's own, with the server's default rate limits. What cannot be installed or started fails the run.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import {
  ensureEnvironment,
  type LaunchedServer,
  type LaunchOptions,
  launchServer,
  stopServer,
} from "../../packages/jupyter/src/server/index.js";
import { whenGone } from "./orphans.js";

/** How a test reaches a Jupyter Server. */
export interface JupyterService {
  /** With a slash at the end. */
  url: string;
  token: string;
  /** The server's root folder, on this machine. */
  rootDir: string;
  /** A Python that has jupyter_server and ipykernel. */
  python: string;
}

declare module "vitest" {
  interface ProvidedContext {
    jupyter: JupyterService;
  }
}

const here = fileURLToPath(new URL(".", import.meta.url));
const environmentDir = join(here, "../../.cache/jupyter-env");

let shared: ExtraJupyter | undefined;

/** Starts the server that all live tests share; they find it by `inject("jupyter")`. */
export async function setup(project: TestProject): Promise<void> {
  shared = await startExtraJupyter(await ensureTestPython());
  project.provide("jupyter", shared.service);
}

export async function teardown(): Promise<void> {
  await shared?.stop();
}

/** The Python with the pinned requirements, installed first if need be. */
export async function ensureTestPython(): Promise<string> {
  const requirements = await readFile(join(here, "jupyter-requirements.txt"), "utf8");
  await mkdir(join(here, "../../.cache"), { recursive: true });
  return await ensureEnvironment({
    dir: environmentDir,
    requirements: requirements.trim().split("\n"),
    onProgress: reportStep,
  });
}

function reportStep(line: string): void {
  process.stderr.write(`jupyter for the tests: ${line}\n`);
}

/** A server that one test has for itself: to kill it, or to run it with other settings. */
export interface ExtraJupyter {
  service: JupyterService;
  process: LaunchedServer["process"];
  /** All of its folders are in there. */
  dir: string;
  /** Ends the server and removes its folders. */
  stop(): Promise<void>;
}

/**
 * Starts a further server in folders of its own.
 * @param python `inject("jupyter").python`
 */
export async function startExtraJupyter(
  python: string,
  options: Partial<Pick<LaunchOptions, "token" | "baseUrl" | "args" | "env">> = {},
): Promise<ExtraJupyter> {
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-jupyter-"));
  const rootDir = join(dir, "root");
  await mkdir(rootDir);
  const server = await launchServer({
    ...options,
    command: [python, "-m", "jupyter_server"],
    rootDir,
    stateDir: join(dir, "state"),
    env: { IPYTHONDIR: join(dir, "ipython"), JUPYTER_DATA_DIR: join(dir, "data"), ...options.env },
  });
  const release = stopWhenGone(dir, server.process.pid);
  return {
    service: { url: server.url, token: server.token, rootDir, python },
    process: server.process,
    dir,
    stop: async () => {
      await stopServer(server);
      await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      release();
    },
  };
}

/** A server that is asked to end ends its kernels first, and is given ten seconds for that. One whose folder is gone has ended. */
const STOP = `
  [ -d "$1" ] || exit 0
  kill -TERM "$2"
  for second in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$2" && sleep 1; done
  kill -KILL "$2"
  rm -rf "$1"`;

/**
 * Stops the server when this process is gone, and removes its folders.
 *
 * @returns what does so now
 */
export function stopWhenGone(dir: string, pid: number | undefined): () => void {
  return whenGone(STOP, dir, String(pid));
}
