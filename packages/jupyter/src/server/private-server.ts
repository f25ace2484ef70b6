/**
 * A Jupyter Server of our own, for a person who has none running: found on the machine or installed privately, on
 * loopback, with a token that nobody else knows.
 *
 * It is left running only while it is needed. An orderly end shuts it down, unless it was left something to do; when this
 * process is killed, the server culls idle kernels and then ends by itself, so that a cell under way still finishes and
 * nothing stays for ever.
 */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ensureEnvironment } from "./environment.js";
import { findJupyter } from "./find-python.js";
import { answers, type LaunchOptions, launchServer, type ServerInfo, stopServer } from "./launch.js";
import { withLock } from "./lock.js";

/** What is installed where no Jupyter Server is found. */
export const JUPYTER_REQUIREMENTS: readonly string[] = ["jupyter_server==2.21.1", "ipykernel==7.4.0"];

/** How a private server is started. */
export interface PrivateServerOptions {
  /** The folder that the server shows, and in which kernels start. Default: the current one. */
  rootDir?: string;
  /**
   * Whether the server stays when this process ends, so that the next one with the same `rootDir` finds its kernels
   * again. Default: false.
   */
  outlive?: boolean;
  /** Where a server that outlives us leaves its state. Default: below `$XDG_STATE_HOME/claimcheck`, by `rootDir`. */
  stateDir?: string;
  /** Where Jupyter is installed if need be. Default: below `$XDG_CACHE_HOME/claimcheck`, by version. */
  environmentDir?: string;
  /** Without kernels and without us, the server ends after this time; it looks once a minute. Default: 600. */
  idleShutdownSeconds?: number;
  /** A kernel that is idle and has no connection ends after this time. Default: 3600. */
  cullKernelsAfterSeconds?: number;
  /** Told what happens: searching, installing, starting. Default: nobody. */
  onProgress?: (line: string) => void;
  /** Looked at for `JUPYTER_PYTHON`, `VIRTUAL_ENV`, ... Default: this process's. */
  env?: NodeJS.ProcessEnv;
}

/** A server that answers. */
export class PrivateServer {
  /** With a slash at the end. */
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  readonly logFile: string;
  /** Whether an earlier process of ours had left it running. */
  readonly reused: boolean;
  readonly #info: ServerInfo;
  readonly #removeDir: string;
  readonly #outlive: boolean;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #onExit = (): void => endNow(this.pid, this.#removeDir);
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(info: ServerInfo, dir: string, options: { outlive: boolean; reused: boolean; idleShutdownMs: number }) {
    this.url = info.url;
    this.token = info.token;
    this.pid = info.pid;
    this.logFile = info.logFile;
    this.reused = options.reused;
    this.#info = info;
    this.#removeDir = dir;
    this.#outlive = options.outlive;
    this.#keepAlive = setInterval(() => void touch(info), options.idleShutdownMs / 3);
    this.#keepAlive.unref();
    if (!options.outlive) process.once("exit", this.#onExit);
  }

  /** Ends our use of the server: shuts it and its kernels down, unless it is to outlive us. May be repeated. */
  async close(): Promise<void> {
    if (this.#outlive) clearInterval(this.#keepAlive);
    else await this.shutdown();
  }

  /** Shuts the server and its kernels down in any case, and removes what it left on disk. May be repeated. */
  shutdown(): Promise<void> {
    this.#closing ??= this.#shutdown();
    return this.#closing;
  }

  async #shutdown(): Promise<void> {
    clearInterval(this.#keepAlive);
    try {
      // The process id of a server that is gone may be somebody else's by now.
      if (!this.reused || (await answers(this.#info))) await stopServer(this.#info);
    } finally {
      process.off("exit", this.#onExit);
      await rm(this.#removeDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  }
}

/**
 * Starts a private server, or finds the one that an earlier process left for the same folder.
 * @throws PrivateServerError when there is no Python, the installation fails, or the server does not start
 */
export async function startPrivateServer(options: PrivateServerOptions = {}): Promise<PrivateServer> {
  return options.outlive ? await startLasting(options) : await startTemporary(options);
}

async function startTemporary(options: PrivateServerOptions): Promise<PrivateServer> {
  const command = await jupyterCommand(options);
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-jupyter-"));
  try {
    return handle(await launch(command, dir, options), dir, options, false);
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function startLasting(options: PrivateServerOptions): Promise<PrivateServer> {
  const dir = options.stateDir ?? defaultStateDir(rootOf(options), options.env ?? process.env);
  return await withLock(
    `${dir}.lock`,
    async () => {
      const left = await readState(dir);
      if (left !== undefined && (await answers(left))) return handle(left, dir, options, true);
      const server = await launch(await jupyterCommand(options), dir, options);
      await writeState(dir, server);
      return handle(server, dir, options, false);
    },
    () => options.onProgress?.("another process is starting a Jupyter Server for the same folder; waiting for it"),
  );
}

function handle(info: ServerInfo, dir: string, options: PrivateServerOptions, reused: boolean): PrivateServer {
  const idleShutdownMs = idleShutdownSeconds(options) * 1000;
  return new PrivateServer(info, dir, { outlive: options.outlive ?? false, reused, idleShutdownMs });
}

async function jupyterCommand(options: PrivateServerOptions): Promise<readonly string[]> {
  const env = options.env ?? process.env;
  options.onProgress?.("looking for a Jupyter Server on this machine");
  const found = await findJupyter(env);
  if (found !== undefined) return found.command;
  const dir = options.environmentDir ?? defaultEnvironmentDir(env);
  const onProgress = options.onProgress ?? (() => {});
  const python = await ensureEnvironment({ dir, requirements: JUPYTER_REQUIREMENTS, onProgress });
  return [python, "-m", "jupyter_server"];
}

async function launch(
  command: readonly string[],
  stateDir: string,
  options: PrivateServerOptions,
): Promise<ServerInfo> {
  const { cullKernelsAfterSeconds: cullAfterSeconds = 3600 } = options;
  options.onProgress?.(`starting ${command.join(" ")}`);
  const launchOptions: LaunchOptions = {
    command,
    stateDir,
    rootDir: rootOf(options),
    // In a process group of its own in any case: a Ctrl-C at the terminal is for us to handle.
    detached: true,
    args: [
      // Nobody else is to be protected from our own output.
      "--ZMQChannelsWebsocketConnection.limit_rate=False",
      `--ServerApp.shutdown_no_activity_timeout=${idleShutdownSeconds(options)}`,
      `--MappingKernelManager.cull_idle_timeout=${cullAfterSeconds}`,
      `--MappingKernelManager.cull_interval=${Math.max(1, Math.min(60, cullAfterSeconds))}`,
    ],
  };
  const { url, token, pid, logFile } = await launchServer(launchOptions);
  return { url, token, pid, logFile };
}

function rootOf(options: PrivateServerOptions): string {
  return resolve(options.rootDir ?? process.cwd());
}

function idleShutdownSeconds(options: PrivateServerOptions): number {
  return options.idleShutdownSeconds ?? 600;
}

function defaultStateDir(rootDir: string, env: NodeJS.ProcessEnv): string {
  const name = createHash("sha256").update(rootDir).digest("hex").slice(0, 16);
  return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "claimcheck", "jupyter", name);
}

function defaultEnvironmentDir(env: NodeJS.ProcessEnv): string {
  const version = JUPYTER_REQUIREMENTS[0]?.split("==")[1];
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "claimcheck", `jupyter-${version}`);
}

async function readState(dir: string): Promise<ServerInfo | undefined> {
  try {
    const { url, token, pid, logFile } = JSON.parse(await readFile(stateFile(dir), "utf8")) as Partial<ServerInfo>;
    if (typeof url !== "string" || typeof token !== "string" || typeof pid !== "number") return undefined;
    return { url, token, pid, logFile: logFile ?? "" };
  } catch {
    // None, or a half-written one of another version: a new server is started.
    return undefined;
  }
}

/** In one step, so that nobody reads half of it; readable to its owner only, since it holds the token. */
async function writeState(dir: string, info: ServerInfo): Promise<void> {
  const next = `${stateFile(dir)}.next`;
  await writeFile(next, `${JSON.stringify(info)}\n`, { mode: 0o600 });
  await rename(next, stateFile(dir));
}

function stateFile(dir: string): string {
  return join(dir, "server.json");
}

/** Counts as activity, which a status request does not. */
async function touch(info: ServerInfo): Promise<void> {
  const headers = { authorization: `token ${info.token}` };
  await fetch(`${info.url}api/kernels`, { headers, signal: AbortSignal.timeout(10_000) }).then(
    (response) => response.arrayBuffer(),
    () => {},
  );
}

/** All that can still be done while the process exits. */
function endNow(pid: number, dir: string): void {
  try {
    process.kill(pid, "SIGTERM");
    rmSync(dir, { recursive: true, force: true });
  } catch {
    // The server is gone already, or is writing there still: nobody is left to tell.
  }
}
