/**
 * The door of this package: MCP servers whose tools run code and notebook cells on the kernels of one Jupyter Server.
 * Make it once per process, serve its factory with `serveStdio` or `serveHttp`, and close it last.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import {
  type Clock,
  type CloseOptions,
  checkOptions,
  durationFrom,
  having,
  type Logger,
  type OptionRule,
  type OptionRules,
  RUNTIME_OPTIONS,
  someText,
  stderrLogger,
  systemClock,
  type TaskStore,
  trueOrFalse,
} from "@claimcheck/core";
import { createTasks, type Tasks } from "@claimcheck/mcp";
import { McpServer, type McpServerFactory } from "@modelcontextprotocol/server";
import { JupyterError, JupyterRest, type ServerAddress, serverAddress } from "./kernel/index.js";
import { registerExecuteCell } from "./tools/execute-cell.js";
import { registerExecuteCode } from "./tools/execute-code.js";
import { Executions } from "./tools/executions.js";
import { registerGetExecution } from "./tools/get-execution.js";
import { givenSite, privateSite, type SiteSource } from "./tools/site-source.js";
import type { Workbench } from "./tools/workbench.js";

export interface JupyterServerOptions {
  /**
   * The Jupyter Server to work on, with its prefix if it has one; the `/lab?token=…` line that a server prints will do.
   * Default: a private one on loopback, started when the first call needs it and ended by {@link JupyterServer.close}.
   */
  url?: string;
  /** The token of that server. Default: the one in `url`, else none. */
  token?: string;
  /** The folder of the notebooks of a private server. Default: the working directory. */
  rootDir?: string;
  /**
   * The folder for what a private server leaves on this machine: the Jupyter that is installed where there is none, and the
   * state of a server that outlives us. Default: `claimcheck` below `$XDG_CACHE_HOME` and below `$XDG_STATE_HOME`.
   */
  dataDir?: string;
  /**
   * Whether a private server stays when this process is killed, or hands tasks over at its close, so that the next process with
   * the same `rootDir` finds its kernels and collects what they run. To be set where the tasks' store outlives the process as
   * well. Default: false.
   */
  outlive?: boolean;
  /**
   * Which servers are one deployment, such as those on one task store: a kernel for code that one of them leaves when it is killed
   * is taken up by the next one, with its variables. Default: on a private server all that find it; on one that is given
   * this one alone, so that no other takes up its kernel but to collect what tasks have left there.
   */
  deployment?: string;
  /** The notebook, as a path below the server's root, that `execute_cell` means when a call names none. Default: none. */
  notebook?: string;
  /**
   * The tasks that the tools run on. Default: new ones on `store`, with the contract `"datalayer"` and the ownership
   * `"single-user"`: right for the one person whose agent this is, on stdio or loopback.
   */
  tasks?: Tasks;
  /** Where the records of the default tasks live. Default: memory. Not beside `tasks`. */
  store?: TaskStore;
  /**
   * How long a direct call waits from its beginning when it does not say; its run then goes on, and `get_execution` collects it.
   * One that still waits for Jupyter to be installed or started, or for its kernel, is answered that nothing has run.
   * Tasks have no such limit. Default: 50 s: clients made with the TypeScript SDK give a call up after 60 s, which stops
   * its run.
   */
  waitLimitMs?: number;
  /** After how long a run is interrupted when its call does not say. Default: never. */
  interruptAfterMs?: number;
  /** Default: warnings and errors to stderr. */
  logger?: Logger;
  /** Default: the host's. */
  clock?: Clock;
}

const anyText: OptionRule = { what: "a string", takes: (value) => typeof value === "string" };

const OPTIONS: OptionRules<JupyterServerOptions> = {
  // What is in it, by serverAddress.
  url: anyText,
  // Of a server without authentication it is empty.
  token: anyText,
  rootDir: someText,
  dataDir: someText,
  outlive: trueOrFalse,
  deployment: someText,
  notebook: someText,
  tasks: having("what createTasks makes", "open", "close", "bind", "registerTool"),
  store: RUNTIME_OPTIONS.store,
  waitLimitMs: durationFrom(0),
  interruptAfterMs: durationFrom(1),
  logger: RUNTIME_OPTIONS.logger,
  clock: RUNTIME_OPTIONS.clock,
};

export interface JupyterServer {
  readonly tasks: Tasks;
  /** Makes the MCP server of one connection, with the tools on it. */
  readonly factory: McpServerFactory;
  /** What should be seen to: a Jupyter Server that does not answer or wants another token, settings without effect. One sentence each. */
  readonly warnings: readonly string[];
  /**
   * Ends everything in order: the tasks, for which the options are, what still runs, the kernels that were started for no
   * notebook, and a private Jupyter Server. What comes later is ended even if something before it cannot be. May be
   * called again.
   */
  close(options?: CloseOptions): Promise<void>;
}

const WAIT_LIMIT_MS = 50_000;
/** A day, as long as a finished task may be kept: a kernel that waits to be collected from is idle. */
const COLLECTED_WITHIN_S = 86_400;
/** A server that takes longer to say that it is there is looked for at each call anyway. */
const PROBE_TIMEOUT_MS = 5_000;

/**
 * Prepares the tools, and looks whether the Jupyter Server given by `url` is there: if not, that is a warning, and each
 * call says it until it is.
 *
 * @throws JupyterError `invalid_address` for a `url` that cannot be one; TypeError, RangeError for what is no option, or
 *   cannot be its value
 */
export async function createJupyterServer(options: JupyterServerOptions = {}): Promise<JupyterServer> {
  checkOptions("createJupyterServer", options, OPTIONS);
  const { logger = stderrLogger, clock = systemClock } = options;
  const address = options.url === undefined ? undefined : serverAddress(options.url, options.token);
  const siteOptions = { clock, logger, ...(options.deployment !== undefined && { deployment: options.deployment }) };
  const source = address === undefined ? privateSource(options, siteOptions) : givenSite(address, siteOptions);
  const tasks = options.tasks ?? defaultTasks(options, logger);
  const warnings = [...idleSettings(options), ...(address === undefined ? [] : await problemsOf(address))];
  return new Served(tasks, source, workbench(source, options, { clock, logger }), warnings);
}

class Served implements JupyterServer {
  readonly tasks: Tasks;
  readonly warnings: readonly string[];
  readonly #source: SiteSource;
  readonly #bench: Workbench;
  #closing: Promise<void> | undefined;

  constructor(tasks: Tasks, source: SiteSource, bench: Workbench, warnings: readonly string[]) {
    this.tasks = tasks;
    this.warnings = warnings;
    this.#source = source;
    this.#bench = bench;
  }

  readonly factory: McpServerFactory = () => {
    const server = new McpServer({ name: "claimcheck-jupyter", version }, { instructions: INSTRUCTIONS });
    for (const register of [registerExecuteCode, registerExecuteCell, registerGetExecution]) {
      register(this.tasks, server, this.#bench);
    }
    return server;
  };

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  /** The runs end with their kernels' connections, and then their last outputs are saved: the server has to be there still. */
  async #close(options: CloseOptions | undefined): Promise<void> {
    try {
      await this.tasks.close(options);
    } finally {
      await this.#closeSite();
    }
  }

  /** What tasks have left at a kernel for a later process stays, and so does the server that it needs. */
  async #closeSite(): Promise<void> {
    const { executions } = this.#bench;
    const left = executions.leftKernels();
    try {
      await this.#source.closeKernels(left);
      await executions.settled();
    } finally {
      await this.#source.close(left);
    }
  }
}

const INSTRUCTIONS =
  "Runs code on Jupyter kernels. A run goes on when its call is over: a task is collected by its id, a direct call that answers " +
  "still_running by get_execution. Variables live as long as their kernel.";

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };

function workbench(
  source: SiteSource,
  options: JupyterServerOptions,
  { clock, logger }: { clock: Clock; logger: Logger },
): Workbench {
  return {
    site: (onProgress) => source.site(onProgress),
    executions: new Executions({ clock, logger }),
    notebook: options.notebook,
    waitLimitMs: options.waitLimitMs ?? WAIT_LIMIT_MS,
    interruptAfterMs: options.interruptAfterMs,
    clock,
  };
}

function privateSource(
  { rootDir, dataDir, outlive }: JupyterServerOptions,
  options: { clock: Clock; logger: Logger; deployment?: string },
): SiteSource {
  const serverOptions = {
    ...(rootDir === undefined ? {} : { rootDir }),
    ...(outlive === true ? { outlive, cullKernelsAfterSeconds: COLLECTED_WITHIN_S } : {}),
    ...(dataDir === undefined
      ? {}
      : { environmentDir: join(dataDir, "jupyter"), stateDir: join(dataDir, "servers", nameOf(rootDir ?? ".")) }),
  };
  // Whoever finds a private server by its folder is of the deployment that has left it there.
  return privateSite(serverOptions, { deployment: "private", ...options });
}

/** One folder for each root, whatever that is called. */
function nameOf(rootDir: string): string {
  return createHash("sha256").update(resolve(rootDir)).digest("hex").slice(0, 16);
}

function defaultTasks({ store, clock }: JupyterServerOptions, logger: Logger): Tasks {
  return createTasks({
    contract: "datalayer",
    ownership: "single-user",
    logger,
    ...(store === undefined ? {} : { store }),
    ...(clock === undefined ? {} : { clock }),
  });
}

/** Settings that cannot have any effect beside the others. */
function idleSettings({ url, token, rootDir, dataDir, outlive, tasks, store }: JupyterServerOptions): string[] {
  const idle: [boolean, string][] = [
    [
      url === undefined && token !== undefined,
      "A token has no effect without a URL: a private Jupyter Server has its own.",
    ],
    [url !== undefined && rootDir !== undefined, "rootDir has no effect on a Jupyter Server that is running already."],
    [url !== undefined && dataDir !== undefined, "dataDir has no effect on a Jupyter Server that is running already."],
    [url !== undefined && outlive === true, "outlive has no effect on a Jupyter Server that is running already."],
    [tasks !== undefined && store !== undefined, "A store has no effect beside tasks, which have theirs."],
  ];
  return idle.filter(([isIdle]) => isIdle).map(([, sentence]) => sentence);
}

/** The list of kernelspecs, and not the status, since some servers tell their status to anybody. */
async function problemsOf(address: ServerAddress): Promise<string[]> {
  try {
    await new JupyterRest(address, { timeoutMs: PROBE_TIMEOUT_MS }).listKernelSpecs();
    return [];
  } catch (error) {
    if (JupyterError.is(error)) return [error.message];
    throw error;
  }
}
