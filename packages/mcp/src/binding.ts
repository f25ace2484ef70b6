/**
 * One MCP server bound to the task runtime: what it serves and advertises, the tools it has, and who speaks to it in
 * which dialect, which is told anew for every request.
 */
import { type Clock, describeError, type JsonObject, type Logger, type TaskRuntime } from "@claimcheck/core";
import type { McpServer, RegisteredTool, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Spoken } from "./calls/incoming-call.js";
import { type Contract, chooseDialect, type IsErrorAs } from "./dialects/choose.js";
import { DATALAYER_EXTENSION, type Fault, TASKS_EXTENSION } from "./dialects/dialect.js";
import { LEGACY_POLL_INTERVAL_MS } from "./dialects/legacy-task.js";
import { registerTaskTools } from "./fallback/task-tools.js";
import { inboundOf } from "./inbound.js";
import { serveMethods, TASK_METHODS } from "./methods.js";
import { type Identity, type IdentityRules, identify } from "./owner.js";
import type { FirstRounds } from "./questions/ask-first.js";
import type { Deliveries } from "./questions/delivery.js";
import type { ParkedCalls } from "./questions/parked-calls.js";
import type { Tool } from "./tools/tool.js";
import type { Connection } from "./wire/connection.js";
import { faultOf, INTERNAL_FAULT, isForCaller } from "./wire/error-map.js";
import {
  type Declaration,
  declarationOf2025,
  declarationOf2026,
  hasInitialized,
  isOf2026,
  keptRequest,
  type Sender,
} from "./wire/request.js";
import { decorateConnections } from "./wire/transport.js";

/** What every binding of one `Tasks` shares. */
export interface Shared {
  readonly runtime: TaskRuntime;
  readonly identity: IdentityRules;
  readonly contract: Contract;
  readonly isErrorAs: IsErrorAs;
  readonly keepHeaders: readonly string[];
  readonly logger: Logger;
  readonly fastPath: boolean;
  readonly fallbackTools: boolean;
  readonly clock: Clock;
  readonly firstRounds: FirstRounds;
  readonly parkedCalls: ParkedCalls;
  readonly deliveries: Deliveries;
}

/** A tool, and what was registered for it: an author may change that at any time. */
export interface ToolEntry {
  tool: Tool;
  registered: RegisteredTool;
  /** As it was when it was registered. */
  inputSchema: RegisteredTool["inputSchema"];
  handler: RegisteredTool["handler"];
}

export class Binding {
  readonly shared: Shared;
  readonly mcp: McpServer;
  readonly #tools = new Map<string, ToolEntry>();
  #connection: Connection | undefined;
  #spoken2025: (Spoken & { capabilities: unknown }) | undefined;

  /** @throws when one of the tasks methods is served already */
  constructor(mcp: McpServer, shared: Shared) {
    this.mcp = mcp;
    this.shared = shared;
    refuseServed(mcp);
    mcp.server.registerCapabilities(capabilities(shared.runtime));
    serveMethods(this);
    if (shared.fallbackTools) registerTaskTools(this);
    decorateConnections(mcp.server, inboundOf(this), (connection) => {
      this.#connection = connection;
    });
  }

  get server(): McpServer["server"] {
    return this.mcp.server;
  }

  /** Where the requests of `server` come from now. */
  get connection(): Connection {
    if (this.#connection === undefined) throw new Error("The server is not connected.");
    return this.#connection;
  }

  /** Who is at the other end of a connection that carries everything; `null` when that cannot be told. */
  get peer(): Identity | null {
    if (this.#connection === undefined) return null;
    const { sessionId } = this.#connection;
    return this.identityOf({ authInfo: undefined, sessionId, httpRequest: undefined }, this.#connection);
  }

  /** Takes a tool that has just been registered on the server. */
  add(tool: Tool, registered: RegisteredTool): void {
    const { inputSchema, handler } = registered;
    this.#tools.set(tool.name, { tool, registered, inputSchema, handler });
  }

  /** The tool of ours that has the name. */
  toolEntry(name: string): ToolEntry | undefined {
    return this.#tools.get(name);
  }

  /** What the tool may read of the request later. */
  kept(identity: Identity, sender: Sender, askable: JsonObject | undefined): JsonObject {
    const request = keptRequest(identity, sender, this.server, this.shared.keepHeaders);
    if (askable !== undefined) request.clientCapabilities = askable;
    return request;
  }

  /** Whose a request is; `null` for somebody who can own no task. */
  identityOf(sender: Omit<Sender, "id">, connection: Connection): Identity | null {
    const { authInfo, sessionId, httpRequest } = sender;
    if (authInfo !== undefined || httpRequest !== undefined) {
      return identify({ authInfo, sessionId }, this.shared.identity);
    }
    // Over HTTP a request without a session stands alone; everywhere else the connection is the session.
    connection.identity ??= identify({ sessionId: sessionId ?? connection.id }, this.shared.identity);
    return connection.identity;
  }

  /** @param meta the request's `_meta`, or the envelope that the SDK took out of it */
  dialectOf(meta: JsonObject | undefined): Spoken {
    if (isOf2026(meta) && !hasInitialized(this.server)) return this.#spoken(declarationOf2026(meta));
    // Told once, when the client connected; chosen anew when it is told again.
    const capabilities = this.server.getClientCapabilities();
    if (this.#spoken2025 === undefined || this.#spoken2025.capabilities !== capabilities) {
      this.#spoken2025 = { ...this.#spoken(declarationOf2025(capabilities as JsonObject | undefined)), capabilities };
    }
    return this.#spoken2025;
  }

  #spoken(declaration: Declaration): Spoken {
    return {
      declaration,
      dialect: chooseDialect({ ...declaration, contract: this.shared.contract, isErrorAs: this.shared.isErrorAs }),
    };
  }

  /** What the client hears of `error`. */
  faultOf(error: unknown): Fault {
    if (isForCaller(error)) return faultOf(error);
    this.shared.logger.error({ error: describeError(error) }, "a tasks request failed");
    return INTERNAL_FAULT;
  }
}

function capabilities(runtime: TaskRuntime): ServerCapabilities {
  const settings = { ...runtime.retention, pollIntervalMs: LEGACY_POLL_INTERVAL_MS };
  return {
    // Any tool may log.
    logging: {},
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    // The published client takes settings under the official name for another extension: exactly {} there.
    extensions: { [DATALAYER_EXTENSION]: settings, [TASKS_EXTENSION]: {} },
  };
}

/** The loud way to find out that the SDK has come to serve tasks itself: two servers of one method would each know half of them. */
function refuseServed(mcp: McpServer): void {
  for (const method of TASK_METHODS) {
    try {
      mcp.server.assertCanSetRequestHandler(method);
    } catch (cause) {
      throw new Error(
        `${method} is served on this McpServer already. If the MCP SDK now serves tasks itself, upgrade @claimcheck/mcp or leave this binding out.`,
        { cause },
      );
    }
  }
}
