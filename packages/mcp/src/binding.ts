/**
 * One MCP server bound to the task runtime: the methods it answers, what it advertises, and what becomes of each
 * `tools/call`. The dialect is chosen anew for every request.
 */
import {
  type CreateTask,
  describeError,
  isTaskError,
  type JsonObject,
  type Logger,
  type TaskRuntime,
} from "@claimcheck/core";
import type {
  JSONRPCRequest,
  McpServer,
  MessageExtraInfo,
  RegisteredTool,
  ServerCapabilities,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Connection, TaskIntent } from "./connection.js";
import { type Contract, chooseDialect } from "./dialects/choose.js";
import { type Answer, DATALAYER_EXTENSION, type Fault, identityRequired, TASKS_EXTENSION } from "./dialects/dialect.js";
import { LEGACY_POLL_INTERVAL_MS } from "./dialects/legacy-task.js";
import { thrownResult } from "./dialects/tool-result.js";
import { DirectProgress } from "./direct-progress.js";
import { faultOf, INTERNAL_FAULT } from "./error-map.js";
import { answersMethod, createsTask, type ToolEntry } from "./fast-path.js";
import { type Callee, decideIncoming, type Spoken } from "./incoming-call.js";
import { serveMethods, TASK_METHODS } from "./methods.js";
import { type Identity, type IdentityRules, identify } from "./owner.js";
import {
  asObject,
  type Declaration,
  declarationOf2025,
  declarationOf2026,
  isOf2026,
  keptRequest,
  revisionHasTasks,
  type Sender,
  senderOf,
} from "./request.js";
import { SideChannel } from "./side-channel.js";
import type { Tool } from "./tool.js";
import { decorateConnections } from "./transport.js";

/** What every binding of one `Tasks` shares. */
export interface Shared {
  readonly runtime: TaskRuntime;
  readonly identity: IdentityRules;
  readonly contract: Contract;
  readonly keepHeaders: readonly string[];
  readonly logger: Logger;
  readonly fastPath: boolean;
}

/** What a callback of the SDK answers where the answer that goes out is another one. */
const PLACEHOLDER: JsonObject = { content: [], isError: true };

export class Binding {
  readonly shared: Shared;
  readonly #mcp: McpServer;
  readonly #tools = new Map<string, ToolEntry>();
  #connection: Connection | undefined;
  #spoken2025: (Spoken & { capabilities: unknown }) | undefined;

  /** @throws when one of the tasks methods is served already */
  constructor(mcp: McpServer, shared: Shared) {
    this.#mcp = mcp;
    this.shared = shared;
    refuseServed(mcp);
    mcp.server.registerCapabilities(capabilities(shared.runtime));
    serveMethods(this);
    decorateConnections(mcp.server, this, (connection) => {
      this.#connection = connection;
    });
  }

  get server(): McpServer["server"] {
    return this.#mcp.server;
  }

  /** Where the requests of `server` come from now. */
  get connection(): Connection {
    if (this.#connection === undefined) throw new Error("The server is not connected.");
    return this.#connection;
  }

  /** Takes a tool that has just been registered on the server. */
  add(tool: Tool, registered: RegisteredTool): void {
    const { inputSchema, handler } = registered;
    this.#tools.set(tool.name, { tool, registered, inputSchema, handler });
  }

  // --- what comes in ---------------------------------------------------------------------------------------------

  /** Decides a request before the SDK sees it; `null` when it is answered already. What is malformed is the SDK's. */
  request(request: JSONRPCRequest, extra: MessageExtraInfo | undefined, connection: Connection): JSONRPCRequest | null {
    if (request.method === "tools/call") return this.#call(request, extra, connection);
    return this.shared.fastPath && answersMethod(this, request, extra, connection) ? null : request;
  }

  #call(request: JSONRPCRequest, extra: MessageExtraInfo | undefined, connection: Connection): JSONRPCRequest | null {
    const params = asObject(request.params);
    const callee = params === undefined ? undefined : this.#calleeOf(params);
    if (params === undefined || callee === undefined) return request;
    const spoken = this.dialectOf(asObject(params._meta));
    const decided = decideIncoming(params, callee, spoken, () => revisionHasTasks(this.server, extra));
    if (decided.kind === "refuse") {
      connection.reply(request.id, { fault: decided.fault });
      return null;
    }
    if (decided.kind === "task") {
      if (this.#createsFast(callee.name, decided.intent, request, extra, connection)) return null;
      connection.expect(request.id, decided.intent);
    }
    return withoutTask(request, params);
  }

  #createsFast(
    toolName: string,
    intent: TaskIntent,
    request: JSONRPCRequest,
    extra: MessageExtraInfo | undefined,
    connection: Connection,
  ): boolean {
    const entry = this.#tools.get(toolName);
    if (!this.shared.fastPath || entry === undefined) return false;
    return createsTask(this, this.#mcp, entry, intent, request, extra, connection);
  }

  /** `undefined` when there is no such tool, which is the SDK's to say. */
  #calleeOf({ name }: JsonObject): Callee | undefined {
    if (typeof name !== "string") return undefined;
    const entry = this.#tools.get(name);
    if (entry !== undefined) return entry.tool;
    return this.#mcp.toolInputSchemaJson(name) === undefined ? undefined : { name, taskSupport: "forbidden" };
  }

  // --- what the SDK lets through ---------------------------------------------------------------------------------

  /** Runs a call whose arguments are valid: to its end, or as a task. What it answers is what the SDK sends, unless the connection has another answer. */
  async call(tool: Tool, input: unknown, context: ServerContext): Promise<JsonObject> {
    const { connection } = this;
    const sender = senderOf(context);
    const intent = connection.intentOf(sender.id);
    if (intent === undefined) return this.#callDirectly(tool, input, sender, context.mcpReq, connection);
    const { answer, release } = await this.createTask(tool, input, sender, intent, connection);
    connection.answer(sender.id, answer, release);
    return PLACEHOLDER;
  }

  async #callDirectly(
    tool: Tool,
    input: unknown,
    sender: Sender,
    mcpReq: ServerContext["mcpReq"],
    connection: Connection,
  ): Promise<JsonObject> {
    const { signal } = mcpReq;
    const identity = this.identityOf(sender, connection) ?? { owner: "" };
    const progress = new DirectProgress(mcpReq);
    const caller = { signal, sendProgress: progress.send };
    const outcome = await tool.callDirectly(input, this.#kept(identity, sender), caller);
    progress.end();
    switch (outcome.kind) {
      case "result":
      case "error_result":
        return outcome.result;
      case "threw":
        return thrownResult(outcome.message);
      case "protocol_error":
        // To a caller that has cancelled nothing is sent, and an answer kept for the id would be a later request's.
        if (!signal.aborted) connection.answer(sender.id, { raised: outcome.error });
        return PLACEHOLDER;
    }
  }

  /** Creates the task that was asked for; `release` lets its side messages out, once the answer has gone before them. */
  async createTask(
    tool: Tool,
    input: unknown,
    sender: Sender,
    intent: TaskIntent,
    connection: Connection,
  ): Promise<{ answer: Answer; release: () => void }> {
    const channel = new SideChannel(connection, intent, () => this.shared.runtime.now());
    try {
      return {
        answer: await this.#created(tool, input, sender, intent, connection, channel),
        release: channel.release,
      };
    } catch (error) {
      return { answer: { fault: this.faultOf(error) }, release: channel.release };
    }
  }

  async #created(
    tool: Tool,
    input: unknown,
    sender: Sender,
    intent: TaskIntent,
    connection: Connection,
    channel: SideChannel,
  ): Promise<Answer> {
    const identity = this.identityOf(sender, connection);
    if (identity === null) return { fault: identityRequired() };
    const { runtime } = this.shared;
    const call: CreateTask = {
      owner: identity.owner,
      toolName: tool.name,
      arguments: intent.arguments,
      ttlMs: intent.ttl,
      request: this.#kept(identity, sender),
      input,
      watcher: channel.watcher,
    };
    if ("idempotencyKey" in intent) call.idempotencyKey = intent.idempotencyKey;
    const { task, replayed } = await runtime.create(call);
    if (replayed) channel.follow(runtime, task);
    return { result: intent.dialect.created(task, intent.era, runtime.now()) };
  }

  #kept(identity: Identity, sender: Sender): JsonObject {
    return keptRequest(identity, sender, this.server, this.shared.keepHeaders);
  }

  // --- what the methods need -------------------------------------------------------------------------------------

  identityOf({ authInfo, sessionId, httpRequest }: Sender, connection: Connection): Identity | null {
    if (authInfo !== undefined || httpRequest !== undefined) {
      return identify({ authInfo, sessionId }, this.shared.identity);
    }
    // Over HTTP a request without a session stands alone; everywhere else the connection is the session.
    connection.identity ??= identify({ sessionId: sessionId ?? connection.id }, this.shared.identity);
    return connection.identity;
  }

  /** @param meta the request's `_meta`, or the envelope that the SDK took out of it */
  dialectOf(meta: JsonObject | undefined): Spoken {
    if (isOf2026(meta)) return this.#spoken(declarationOf2026(meta));
    // Told once, when the client connected; chosen anew when it is told again.
    const capabilities = this.server.getClientCapabilities();
    if (this.#spoken2025 === undefined || this.#spoken2025.capabilities !== capabilities) {
      this.#spoken2025 = { ...this.#spoken(declarationOf2025(capabilities as JsonObject | undefined)), capabilities };
    }
    return this.#spoken2025;
  }

  #spoken(declaration: Declaration): Spoken {
    return { declaration, dialect: chooseDialect({ ...declaration, contract: this.shared.contract }) };
  }

  /** What the client hears of `error`. */
  faultOf(error: unknown): Fault {
    if (isTaskError(error)) return faultOf(error);
    this.shared.logger.error({ error: describeError(error) }, "a tasks request failed");
    return INTERNAL_FAULT;
  }
}

/** The SDK's schema for `task` refuses what the protocol allows, a ttl of null for one, and nothing behind it reads it. */
function withoutTask(request: JSONRPCRequest, params: JsonObject): JSONRPCRequest {
  if (!("task" in params)) return request;
  const { task, ...rest } = params;
  return { ...request, params: rest };
}

function capabilities(runtime: TaskRuntime): ServerCapabilities {
  const settings = { ...runtime.retention, pollIntervalMs: LEGACY_POLL_INTERVAL_MS };
  return {
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
