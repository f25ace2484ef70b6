/**
 * The door of this package: MCP servers whose tools run code and notebook cells on the kernels of one Jupyter Server.
 * Make it once per process, serve its factory with `serveStdio` or `serveHttp`, and close it last.
 */
import type { Clock, Logger, TaskStore } from "@claimcheck/core";
import type { Tasks } from "@claimcheck/mcp";
import type { McpServerFactory } from "@modelcontextprotocol/server";

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
  /** Where a private server and its Python environment keep their files. Default: `~/.claimcheck`. */
  stateDir?: string;
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
   * How long a direct call waits for its run when it does not say; the run then goes on, and `get_execution` collects it.
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

export interface JupyterServer {
  readonly tasks: Tasks;
  /** Makes the MCP server of one connection, with the tools on it. */
  readonly factory: McpServerFactory;
  /** What should be seen to: a Jupyter Server that does not answer or wants another token, settings without effect. One sentence each. */
  readonly warnings: readonly string[];
  /**
   * Ends everything in order: the tasks (running ones may go on for `drainMs`, default 0), what still runs, the kernels
   * that were started for no notebook, and a private Jupyter Server. May be called again.
   */
  close(options?: { drainMs?: number }): Promise<void>;
}

/**
 * Prepares the tools, and looks whether the Jupyter Server given by `url` is there: if not, that is a warning, and each
 * call says it until it is.
 *
 * @throws JupyterError `invalid_address` for a `url` that cannot be one
 */
export declare function createJupyterServer(options?: JupyterServerOptions): Promise<JupyterServer>;
