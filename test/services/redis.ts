/**
 * A real Redis for the live tests: from Debian's packages, in a data folder of its own, on a free port of the
 * loopback interface. What the machine already runs is not touched. `REDIS_SERVER=valkey-server` runs Valkey instead.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { ensureDebianPackage } from "./debian-package.js";
import { freePort } from "./free-port.js";
import { whenGone } from "./orphans.js";

/** How a test reaches the server that all live tests share. */
export interface RedisService {
  url: string;
}

declare module "vitest" {
  interface ProvidedContext {
    redis: RedisService;
  }
}

let shared: RedisServer | undefined;

/** Starts the server that all live tests share; they find it by `inject("redis")`. */
export async function setup(project: TestProject): Promise<void> {
  shared = await startRedis();
  project.provide("redis", { url: shared.url });
}

export async function teardown(): Promise<void> {
  await shared?.remove();
}

/** A server that one test may stop, restart and change the settings of. */
export interface RedisServer {
  url: string;
  port: number;
  /** What it keeps is in there. */
  dir: string;
  readonly process: ChildProcess;
  /** Starts it again on its data, on the same port. */
  start(): Promise<void>;
  /** `SIGKILL` is a crash; what the append-only file has is there at the next start. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** @param settings further arguments of `redis-server`, such as `["--requirepass", "secret"]` */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const program = await ensureDebianPackage("redis-server", findProgram);
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-redis-"));
  const port = await freePort();
  const files = ["--dir", dir, "--pidfile", pidFileIn(dir)];
  const own = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"];
  const durable = ["--appendonly", "yes", "--appendfsync", "everysec"];
  const server = serverOf(program, [...own, ...files, ...durable, ...settings], dir, port);
  try {
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}

/** A sentinel that watches the server on `port` under `name`, and puts a replica in its place once it has been gone for some seconds. */
export async function startSentinel(name: string, port: number): Promise<RedisServer> {
  const program = await ensureDebianPackage("redis-server", findProgram);
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-sentinel-"));
  const own = await freePort();
  const file = join(dir, "sentinel.conf");
  const watched = [
    `monitor ${name} 127.0.0.1 ${port} 1`,
    `down-after-milliseconds ${name} 3000`,
    `failover-timeout ${name} 5000`,
  ];
  const settings = [`port ${own}`, `dir ${dir}`, `pidfile ${pidFileIn(dir)}`];
  await writeFile(file, [...settings, ...watched.map((line) => `sentinel ${line}`), ""].join("\n"));
  const sentinel = serverOf(program, [file, "--sentinel"], dir, own, "+monitor");
  try {
    await sentinel.start();
  } catch (error) {
    await sentinel.remove();
    throw error;
  }
  return sentinel;
}

/** Only there while the server is, so that its pid is nobody else's by then. */
function pidFileIn(dir: string): string {
  return join(dir, "pid");
}

/**
 * Ends the server in `dir` when this process is gone, and removes the folder.
 *
 * @returns what does so now
 */
export function removeWhenGone(dir: string): () => void {
  return whenGone('kill -KILL "$(cat "$2")"; rm -rf "$1"', dir, pidFileIn(dir));
}

function serverOf(
  program: string,
  args: string[],
  dir: string,
  port: number,
  whenReady = "eady to accept connections",
): RedisServer {
  const release = removeWhenGone(dir);
  let child: ChildProcess | undefined;
  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, "exit");
    running.kill(signal);
    await exited;
    await rm(pidFileIn(dir), { force: true });
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dir,
    get process() {
      if (child === undefined) throw new Error("The Redis server is not running.");
      return child;
    },
    start: async () => {
      child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
      await untilSaid(child, whenReady);
    },
    stop,
    remove: async () => {
      await stop("SIGKILL");
      await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      release();
    },
  };
}

/** Resolves when the server says what it says once it takes connections, its data loaded. */
function untilSaid(child: ChildProcess, whenReady: string): Promise<void> {
  let said = "";
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      said = `${said}${chunk}`.slice(-4000);
      if (said.includes(whenReady)) resolve();
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`redis-server ended with ${code} before it was ready:\n${said}`)));
  });
}

async function findProgram(): Promise<string | undefined> {
  return promisify(execFile)("which", [process.env.REDIS_SERVER ?? "redis-server"]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}
