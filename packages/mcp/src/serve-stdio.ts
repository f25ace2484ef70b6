/** Serving on stdin and stdout. */
import type { Readable, Writable } from "node:stream";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import type { Tasks } from "./tasks.js";

export interface ServeStdioOptions {
  /** Default: the process's own, with stdout given to the protocol alone: what else writes to it goes to stderr. */
  stdin?: Readable;
  stdout?: Writable;
  onerror?: (error: Error) => void;
}

export interface StdioServing {
  /** Resolves when the connection has ended: stdin ended, stdout broke, or `close` was called. Exiting is the caller's. */
  readonly closed: Promise<void>;
  /** Ends the connection. The tasks go on until `Tasks.close`. */
  close(): Promise<void>;
}

/** Opens `tasks` and serves the server that `factory` makes to the one client at the other end of the pipes. */
export declare function serveStdio(
  tasks: Tasks,
  factory: McpServerFactory,
  options?: ServeStdioOptions,
): Promise<StdioServing>;
