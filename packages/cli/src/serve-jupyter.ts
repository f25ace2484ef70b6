/** `claimcheck jupyter`: everything is started in turn, served, and ended in the opposite turn. */
import { mkdir, stat } from "node:fs/promises";
import { isTaskError } from "@claimcheck/core";
import { createJupyterServer, JupyterError, type JupyterServerOptions } from "@claimcheck/jupyter";
import { createTasks, type Ownership, type Tasks } from "@claimcheck/mcp";
import type { Logger } from "pino";
import { deploymentOf } from "./deployment.js";
import { StartError, UsageError } from "./errors.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import type { Host } from "./host.js";
import { type HttpSettings, type JupyterSettings, usualStoreFile } from "./jupyter-settings.js";
import { createLogger } from "./log.js";
import { isLoopback } from "./loopback.js";
import { type Serving, serveOneClient, servePort } from "./serving.js";
import { requestOnSignals, Shutdown } from "./shutdown.js";
import { openStore } from "./store.js";

/** Serves until the client has gone or a signal comes; resolves when everything has ended. */
export async function serveJupyter(settings: JupyterSettings, host: Host): Promise<ExitCode> {
  for (const warning of settings.warnings) warn(host, warning);
  const log = createLogger(settings.logLevel, host.stderr);
  const shutdown = new Shutdown({ graceMs: settings.graceMs, logger: log });
  const releaseSignals = requestOnSignals(shutdown);
  const starting = start(settings, { host, log, shutdown });
  let clean = false;
  try {
    const reason = await Promise.race([shutdown.requested, starting.then(({ ended }) => ended)]);
    log.info({ reason }, "ending");
  } finally {
    // What is still opening then is waited for like whatever ends, so that it can be ended too.
    const settled = starting.then(
      () => {},
      () => {},
    );
    shutdown.add("start", () => settled);
    clean = await shutdown.end();
    releaseSignals();
  }
  return clean ? EXIT.ok : EXIT.failed;
}

interface Start {
  host: Host;
  log: Logger;
  shutdown: Shutdown;
}

/**
 * The port comes last: whoever finds it open is served. When the end is asked for meanwhile, what has been opened by then is the
 * last.
 */
async function start(settings: JupyterSettings, { host, log, shutdown }: Start): Promise<Serving> {
  if (settings.jupyterUrl === undefined) await checkRoot(settings.rootDir);
  if (settings.store === `sqlite:${usualStoreFile(settings.stateDir)}`) await makeStateDir(settings.stateDir);
  const store = await orStartError(openStore(settings.store, host, log));
  shutdown.add("store", async () => store.close?.());
  goOn(shutdown);
  const tasks = createTasks({ store, contract: settings.contract, ownership: ownershipOf(settings.http), logger: log });
  shutdown.add("tasks", () => tasks.close());
  const deployment = await deploymentOf(settings, host, log);
  const jupyter = await orStartError(createJupyterServer(jupyterOptions(settings, tasks, log, deployment)));
  // What does not stop may take a quarter of the grace period, so that there is time to write how it ended and to end its kernel.
  shutdown.add("jupyter", () => jupyter.close({ drainMs: drainMs(settings), stopMs: settings.graceMs / 4 }));
  goOn(shutdown);
  for (const warning of jupyter.warnings) warn(host, warning);
  const { http } = settings;
  const serving =
    http === undefined
      ? await serveOneClient(tasks, jupyter.factory, host, log)
      : await servePort(tasks, jupyter.factory, http, host, log);
  shutdown.add("connections", () => serving.close());
  return serving;
}

function goOn(shutdown: Shutdown): void {
  if (shutdown.isRequested) throw new StartError("the end was asked for before everything had started");
}

/** The private server that needs it is started at the first call, whose caller has not chosen the folder. */
async function checkRoot(dir: string): Promise<void> {
  const found = await stat(dir).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new UsageError(`there is no folder ${dir} to take for the notebooks' root; --root names another one`);
  }
}

/** For its owner alone: what cells printed is in there. */
async function makeStateDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    const message = `the folder ${dir} for the task store cannot be made: ${cause.message}; --store or XDG_STATE_HOME names another place`;
    throw new StartError(message, { cause });
  });
}

/** A token that lies about for some other server is not the private one's, and a private one's folders are no other's. */
function jupyterOptions(
  settings: JupyterSettings,
  tasks: Tasks,
  logger: Logger,
  deployment: string | undefined,
): JupyterServerOptions {
  const { jupyterUrl, jupyterToken, notebook, rootDir, stateDir } = settings;
  const server =
    jupyterUrl === undefined
      ? { rootDir, dataDir: stateDir, outlive: settings.store !== "memory" }
      : { url: jupyterUrl, ...(jupyterToken !== undefined && { token: jupyterToken }) };
  return {
    tasks,
    logger,
    ...server,
    ...(notebook !== undefined && { notebook }),
    ...(deployment !== undefined && { deployment }),
  };
}

function warn({ stderr }: Host, warning: string): void {
  stderr.write(`claimcheck: warning: ${warning}\n`);
}

/**
 * Whoever started the server on stdio or on loopback is the one person it serves. Where tokens say who somebody is, or beyond
 * that, a task belongs to whom the token proves, and without a token to the session.
 */
function ownershipOf(http: HttpSettings | undefined): Ownership {
  return http === undefined || (isLoopback(http.host) && http.jwt === undefined) ? "single-user" : "session";
}

/** A client on stdio kills a server that lingers (the SDK's sends SIGTERM after two seconds); over HTTP, half the grace period is for the work. */
function drainMs({ http, graceMs }: JupyterSettings): number {
  return http === undefined ? Math.min(500, graceMs / 2) : graceMs / 2;
}

/** What the store or the Jupyter side says about itself is the message; whatever else is thrown is a fault of ours. */
async function orStartError<T>(starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (cause) {
    if (isTaskError(cause) || JupyterError.is(cause)) throw new StartError(cause.message, { cause });
    throw cause;
  }
}
