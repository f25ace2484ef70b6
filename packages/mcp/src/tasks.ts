/**
 * The door of this package: one `Tasks` serves any number of MCP servers from one runtime. Make it once per process,
 * register the tools on each server that a connection gets, and close it last.
 */
import type { TaskStore } from "@claimcheck/core";
import type { AuthInfo, McpServer, RegisteredTool, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { Contract } from "./dialects/choose.js";
import type { ToolConfig, ToolHandler } from "./register-tool.js";

/**
 * Who may see a task.
 *
 * - `"session"` (the default): the authenticated principal where there is one, else the session. A request that has
 *   neither (HTTP without a session and without authentication) is refused whatever needs a task.
 * - `"principal"`: the authenticated principal; without authentication everything that needs a task is refused.
 * - `"single-user"`: the server serves one person; any connection may collect.
 */
export type Ownership = "session" | "principal" | "single-user";

/** What authentication proved. All three are compared, none is ever the token or one of its changing claims. */
export interface Principal {
  issuer?: string;
  subject?: string;
  clientId?: string;
}

export interface TasksOptions {
  /** Where the records live. Default: memory. */
  store?: TaskStore;
  /** Default `"session"`. */
  ownership?: Ownership;
  /** What a verified token proves. Default: `iss` (or `issuer`) and `sub` (or `subject`) of `authInfo.extra`, and `authInfo.clientId`. */
  principalOf?: (authInfo: AuthInfo) => Principal;
  /** Default `"2025-11-25"`. */
  contract?: Contract;
  /** How long a finished task is kept when the caller does not say. Default 15 minutes. */
  defaultTtlMs?: number;
  /** The longest that a caller may ask for. Default 24 hours. */
  maxTtlMs?: number;
  /** How long cancelling waits for the work to stop, unless the tool says otherwise. */
  cancelGraceMs?: number;
  /** Answer a tool's unexpected error with one fixed sentence, on the direct and the task path alike. Default: its message is shown. */
  maskErrors?: boolean;
  /** Names of HTTP request headers that a tool may read in `ctx.request.headers`. They are stored with the task. Default: none. */
  keepHeaders?: readonly string[];
}

export interface Tasks {
  /** Opens the store and takes up what an earlier process left. May be called again. */
  open(): Promise<void>;

  /** Stops taking calls, lets the work drain, answers who waits, gives the store up. May be called again. */
  close(options?: { drainMs?: number }): Promise<void>;

  /**
   * Serves the tasks methods on `server` and advertises them; `registerTool` does it as well. Call it before the
   * server connects; a second call changes nothing.
   *
   * @throws when the SDK, or somebody else, already serves one of the methods
   */
  bind(server: McpServer): void;

  /**
   * Registers a tool on `server`, as `McpServer.registerTool` does, that callers may also run as a task. Register the
   * same tool on every server of one `Tasks`: a task runs the handler that was registered last.
   */
  registerTool<
    Input extends StandardSchemaWithJSON | undefined = undefined,
    Output extends StandardSchemaWithJSON | undefined = undefined,
  >(server: McpServer, name: string, config: ToolConfig<Input, Output>, handler: ToolHandler<Input>): RegisteredTool;
}

/** Makes a task runtime and its binding to MCP servers. It must be opened before it takes a call; the `serve…` functions do. */
export declare function createTasks(options?: TasksOptions): Tasks;
