/**
 * A real PostgreSQL for the live tests: from Debian's packages, in a data folder of its own, on a free port of the
 * loopback interface. What the machine already runs is not touched.
 */
import { execFile, spawn } from "node:child_process";
import { appendFile, chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { ensureDebianPackage } from "./debian-package.js";
import { freePort } from "./free-port.js";
import { whenGone } from "./orphans.js";

/** How a test reaches the server that all live tests share. */
export interface PostgresService {
  /** Superuser, database `postgres`. */
  url: string;
}

declare module "vitest" {
  interface ProvidedContext {
    postgres: PostgresService;
  }
}

const run = promisify(execFile);
const PASSWORD = "se%cret/pass word";

let shared: PostgresServer | undefined;

/** Starts the server that all live tests share; they find it by `inject("postgres")`. */
export async function setup(project: TestProject): Promise<void> {
  shared = await startPostgres(["max_connections = 300"]);
  project.provide("postgres", { url: shared.url });
}

export async function teardown(): Promise<void> {
  await shared?.remove();
}

/** A server that one test may stop, restart and change the settings of. */
export interface PostgresServer {
  url: string;
  port: number;
  password: string;
  /** Starts it again on its data, on the same port. */
  start(): Promise<void>;
  /** `immediate` is what a crash looks like: no shutdown, recovery at the next start. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** What a server that takes TLS, and nothing else over TCP, proves itself with. */
export interface PostgresTls {
  cert: string;
  key: string;
  /** Whoever connects has to show a certificate of this authority. */
  clientCa?: string;
}

/** @param settings lines of `postgresql.conf` */
export async function startPostgres(settings: readonly string[] = [], tls?: PostgresTls): Promise<PostgresServer> {
  const bin = await ensureDebianPackage("postgresql", findBinaries);
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-postgres-"));
  const data = join(dir, "data");
  const release = removeWhenGone(dir);
  const account = await serverAccount();
  if (account !== undefined) await chown(dir, account.uid, account.gid);
  const port = await freePort();
  const server = serverOf({ bin, dir, data, port, account }, release);
  try {
    await initialize({ bin, dir, data, port, account }, settings);
    if (tls !== undefined) await takeTlsOnly({ bin, dir, data, port, account }, tls);
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}

/**
 * Ends the server in `dir` when this process is gone, and removes the folder. The server's pid is the first line of a file that
 * is there as long as the server, and SIGQUIT ends it at once.
 *
 * @returns what does so now
 */
export function removeWhenGone(dir: string): () => void {
  const pidFile = '"$1/data/postmaster.pid"';
  const untilEnded = `for _ in $(seq 100); do [ -e ${pidFile} ] || break; sleep 0.1; done`;
  return whenGone(`kill -QUIT "$(head -n 1 ${pidFile})"; ${untilEnded}; rm -rf "$1"`, dir);
}

interface Account {
  uid: number;
  gid: number;
}

interface Installation {
  bin: string;
  dir: string;
  data: string;
  port: number;
  account: Account | undefined;
}

/** @param release of the server, which is nobody's concern once it is removed */
function serverOf(installation: Installation, release: () => void): PostgresServer {
  const { port, dir } = installation;
  const stop = async (mode: "fast" | "immediate" = "fast"): Promise<void> => {
    await control(installation, "stop", "-m", mode, "-w");
  };
  return {
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    port,
    password: PASSWORD,
    start: () => control(installation, "start", "-w", "-t", "60", "-l", join(dir, "log")),
    stop,
    remove: async () => {
      // It may be stopped already, or never have started.
      await stop("immediate").catch(() => {});
      await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      release();
    },
  };
}

async function initialize(installation: Installation, settings: readonly string[]): Promise<void> {
  const { bin, dir, data, port, account } = installation;
  const passwordFile = join(dir, "password");
  await writeFile(passwordFile, PASSWORD);
  await chmod(passwordFile, 0o600);
  if (account !== undefined) await chown(passwordFile, account.uid, account.gid);
  const options = ["-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", passwordFile];
  await asAccount(account, join(bin, "initdb"), [...options, "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"]);
  const own = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${dir}'`,
    "shared_buffers = 32MB",
    "logging_collector = off",
  ];
  await writeFile(join(data, "postgresql.conf"), `${[...own, ...settings].join("\n")}\n`);
}

async function takeTlsOnly({ data, account }: Installation, { cert, key, clientCa }: PostgresTls): Promise<void> {
  const line = `hostssl all all 127.0.0.1/32 scram-sha-256${clientCa === undefined ? "" : " clientcert=verify-ca"}`;
  const files = {
    "server.crt": cert,
    "server.key": key,
    "pg_hba.conf": line,
    ...(clientCa && { "root.crt": clientCa }),
  };
  for (const [name, content] of Object.entries(files)) {
    const file = join(data, name);
    await writeFile(file, `${content}\n`, { mode: 0o600 });
    if (account !== undefined) await chown(file, account.uid, account.gid);
  }
  const settings = ["ssl = on", ...(clientCa === undefined ? [] : ["ssl_ca_file = 'root.crt'"])];
  await appendFile(join(data, "postgresql.conf"), `${settings.join("\n")}\n`);
}

async function control({ bin, data, dir, account }: Installation, ...args: string[]): Promise<void> {
  try {
    await asAccount(account, join(bin, "pg_ctl"), ["-D", data, "-s", ...args]);
  } catch (error) {
    const log = await readFile(join(dir, "log"), "utf8").catch(() => "");
    throw new Error(`pg_ctl ${args[0]} failed: ${(error as Error).message}\n${log.slice(-2000)}`);
  }
}

/** PostgreSQL refuses to run as root; then it runs as the user that its package made. */
async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(["-u", "-g"].map(async (flag) => (await run("id", [flag, "postgres"])).stdout));
  return { uid: Number(uid), gid: Number(gid) };
}

async function asAccount(account: Account | undefined, command: string, args: string[]): Promise<void> {
  // The server that pg_ctl leaves behind would keep pipes open, and the wait for their end would last as long.
  const child = spawn(command, args, {
    ...account,
    cwd: "/",
    env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

/** The folder of the newest server's programs. */
async function findBinaries(): Promise<string | undefined> {
  const root = "/usr/lib/postgresql";
  const versions = await readdir(root).catch(() => []);
  const newest = versions.map(Number).sort((a, b) => b - a)[0];
  return newest === undefined ? undefined : join(root, String(newest), "bin");
}
