/**
 * Starting one Jupyter Server process and stopping it again.
 *
 * The server listens on loopback only, on a port that we pick (port 0 is broken before jupyter_server 2.20), and takes
 * its token from the environment, so that it stands in no process list and no log.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PrivateServerError } from "./errors.js";
import { isAlive } from "./lock.js";

/** How one server is started. */
export interface LaunchOptions {
  /** Starts a Jupyter Server, without arguments: `["/usr/bin/python3", "-m", "jupyter_server"]`. */
  command: readonly string[];
  /** What the server shows: the folder of the notebooks. */
  rootDir: string;
  /** A private folder for the runtime files, an empty configuration and the log; created with mode 0700. */
  stateDir: string;
  /** Default: a random one. An empty one makes a server without authentication. */
  token?: string;
  /** A path prefix such as `/user/ann/`. Default: `/`. */
  baseUrl?: string;
  /** Further arguments, after ours. */
  args?: readonly string[];
  /** Further environment variables, over those of this process. */
  env?: NodeJS.ProcessEnv;
  /** Whether the server outlives this process; it then has its own process group and session. Default: false. */
  detached?: boolean;
  /** How long the server may take to answer. Default: 60 s, for a cold disk. */
  readyTimeoutMs?: number;
}

/** How to reach a server of this machine, and its process. This is what a state file keeps. */
export interface ServerInfo {
  /** With the base URL, and a slash at the end. */
  url: string;
  token: string;
  pid: number;
  logFile: string;
}

/** A server that has answered. */
export interface LaunchedServer extends ServerInfo {
  process: ChildProcess;
}

const DEFAULT_READY_TIMEOUT_MS = 60_000;
/** Somebody else can take the free port before the server binds it. */
const PORT_TRIES = 3;
const READY_LOOK_MS = 50;

/**
 * Starts a server and waits until it answers with its own token.
 * @throws PrivateServerError `start_failed`, with the end of the log
 */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const server = await spawnServer(options, port);
    // Whoever starts it has no handle yet: if this process exits now, nobody else would end the server.
    const endWithUs = () => void server.process.kill("SIGTERM");
    process.once("exit", endWithUs);
    const failure = await waitUntilReady(server, options.readyTimeoutMs ?? DEFAULT_READY_TIMEOUT_MS).finally(() =>
      process.off("exit", endWithUs),
    );
    if (failure === undefined) return server;
    await stopProcess(server.pid);
    const log = await logEnd(server.logFile);
    if (tries < PORT_TRIES && /address already in use|port .* is already in use/i.test(log)) continue;
    throw new PrivateServerError(
      "start_failed",
      `${options.command.join(" ")} ${failure}. The end of its log:\n${log}`,
    );
  }
}

async function spawnServer(options: LaunchOptions, port: number): Promise<LaunchedServer> {
  const token = options.token ?? randomBytes(24).toString("hex");
  const dirs = await prepareDirs(options.stateDir);
  const log = await open(dirs.logFile, "a", 0o600);
  try {
    const [program = "", ...first] = options.command;
    const child = spawn(program, [...first, ...serverArguments(options, port, token)], {
      cwd: options.rootDir,
      detached: options.detached ?? false,
      stdio: ["ignore", log.fd, log.fd],
      env: {
        ...process.env,
        JUPYTER_RUNTIME_DIR: dirs.runtimeDir,
        JUPYTER_CONFIG_DIR: dirs.configDir,
        ...options.env,
        JUPYTER_TOKEN: token,
      },
    });
    await started(child, options.command);
    if (options.detached) child.unref();
    return { url: urlOf(port, options.baseUrl), token, pid: child.pid ?? 0, logFile: dirs.logFile, process: child };
  } finally {
    await log.close();
  }
}

async function started(child: ChildProcess, command: readonly string[]): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) =>
      reject(
        new PrivateServerError("start_failed", `${command.join(" ")} could not be started: ${cause.message}`, {
          cause,
        }),
      ),
    );
  });
}

async function prepareDirs(stateDir: string): Promise<{ runtimeDir: string; configDir: string; logFile: string }> {
  const runtimeDir = join(stateDir, "runtime");
  const configDir = join(stateDir, "config");
  for (const dir of [stateDir, runtimeDir, configDir]) await mkdir(dir, { recursive: true, mode: 0o700 });
  return { runtimeDir, configDir, logFile: join(stateDir, "server.log") };
}

function serverArguments(options: LaunchOptions, port: number, token: string): string[] {
  return [
    "--no-browser",
    "--ServerApp.ip=127.0.0.1",
    `--ServerApp.port=${port}`,
    "--ServerApp.port_retries=0",
    `--ServerApp.root_dir=${options.rootDir}`,
    ...(options.baseUrl === undefined ? [] : [`--ServerApp.base_url=${options.baseUrl}`]),
    ...(token === "" ? ["--IdentityProvider.token=", "--ServerApp.allow_unauthenticated_access=True"] : []),
    // The server refuses root out of caution for servers on a network; this one is on loopback.
    ...(process.getuid?.() === 0 ? ["--ServerApp.allow_root=True"] : []),
    ...(options.args ?? []),
  ];
}

function urlOf(port: number, baseUrl = "/"): string {
  const path = baseUrl.replace(/^\/|\/$/g, "");
  return `http://127.0.0.1:${port}/${path === "" ? "" : `${path}/`}`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port from the system");
  return address.port;
}

/** Undefined once the server answers, else what happened instead. */
async function waitUntilReady(server: LaunchedServer, timeoutMs: number): Promise<string | undefined> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const { exitCode, signalCode } = server.process;
    if (exitCode !== null || signalCode !== null) return `ended with ${signalCode ?? `exit code ${exitCode}`}`;
    if (await answers(server)) return undefined;
    await delay(READY_LOOK_MS);
  }
  return `did not answer within ${timeoutMs / 1000} s`;
}

/** Whether the server is there, and is the one that this token belongs to. */
export async function answers(server: Pick<ServerInfo, "url" | "token">): Promise<boolean> {
  const response = await fetchQuietly(`${server.url}api/status`, { headers: authorization(server.token) });
  return response?.ok ?? false;
}

/** How long a server may take to end its kernels before it is killed. */
const STOP_GRACE_MS = 10_000;

/** Shuts a server and its kernels down: by its own API, then by signal. Safe to call on a server that is gone. */
export async function stopServer(server: ServerInfo): Promise<void> {
  await fetchQuietly(`${server.url}api/shutdown`, { method: "POST", headers: authorization(server.token) });
  await stopProcess(server.pid);
}

/** Kernels end with their server: each watches its parent. */
async function stopProcess(pid: number): Promise<void> {
  if (await endsWithin(pid, 500)) return;
  signal(pid, "SIGTERM");
  if (await endsWithin(pid, STOP_GRACE_MS)) return;
  signal(pid, "SIGKILL");
  await endsWithin(pid, 1_000);
}

async function endsWithin(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended in between.
  }
}

function authorization(token: string): Record<string, string> {
  return token === "" ? {} : { authorization: `token ${token}` };
}

async function fetchQuietly(url: string, init: RequestInit): Promise<Response | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response;
  } catch {
    return undefined;
  }
}

async function logEnd(logFile: string): Promise<string> {
  const log = await readFile(logFile, "utf8").catch(() => "");
  return log.trim().split("\n").slice(-15).join("\n");
}
