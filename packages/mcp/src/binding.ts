/**
 * One MCP server bound to the task runtime: the methods it answers, what it advertises, and what becomes of each
 * `tools/call`. The dialect is chosen anew for every request.
 */
import {
  type Clock,
  type CreateTask,
  describeError,
  isTaskError,
  type JsonObject,
  type Logger,
  type TaskRuntime,
} from "@claimcheck/core";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  McpServer,
  MessageExtraInfo,
  RegisteredTool,
  ServerCapabilities,
  ServerContext,
} from "@modelcontextprotocol/server";
import { callDirectly, resumeCall } from "./calls/direct-call.js";
import { type Callee, decideIncoming, type Spoken } from "./calls/incoming-call.js";
import { holdInline } from "./calls/inline-window.js";
import { SideChannel } from "./calls/side-channel.js";
import { type Contract, chooseDialect, type IsErrorAs } from "./dialects/choose.js";
import {
  type Answer,
  DATALAYER_EXTENSION,
  type Fault,
  IMMEDIATE_RESPONSE_META,
  identityRequired,
  TASKS_EXTENSION,
} from "./dialects/dialect.js";
import { LEGACY_POLL_INTERVAL_MS } from "./dialects/legacy-task.js";
import { outcomeAnswer, withMeta } from "./dialects/tool-result.js";
import { attendantOf, taskOfState } from "./fallback/attend.js";
import { callPromotable } from "./fallback/promoted-call.js";
import { registerTaskTools } from "./fallback/task-tools.js";
import { answersMethod, createsTask, type ToolEntry } from "./fast-path.js";
import { asLogLevel, noLogLevel } from "./logging.js";
import { serveMethods, TASK_METHODS } from "./methods.js";
import { type Identity, type IdentityRules, identify } from "./owner.js";
import { type Answers, type FirstRounds, isFirstState } from "./questions/ask-first.js";
import type { Deliveries } from "./questions/delivery.js";
import { isCallState, type ParkedCalls, type Turn } from "./questions/parked-calls.js";
import { asAnswer, takeAnswer } from "./questions/take-answer.js";
import type { Tool } from "./tools/tool.js";
import type { Connection, TaskIntent } from "./wire/connection.js";
import { faultOf, INTERNAL_FAULT } from "./wire/error-map.js";
import {
  asObject,
  type Declaration,
  declarationOf2025,
  declarationOf2026,
  envelopeOf,
  hasInitialized,
  inputResponsesOf,
  isOf2026,
  keptRequest,
  revisionHasTasks,
  type Sender,
  senderOf,
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
    if (shared.fallbackTools) registerTaskTools(this, mcp);
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

  /** Who is at the other end of a connection that carries everything; `null` when that cannot be told. */
  get peer(): Identity | null {
    if (this.#connection === undefined) return null;
    const { sessionId } = this.#connection;
    return this.identityOf({ id: "", authInfo: undefined, sessionId, httpRequest: undefined }, this.#connection);
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
    if (request.method === "logging/setLevel") return this.#setLogLevel(request, connection);
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
    } else if (this.#promotes(callee)) connection.keepArguments(request.id, asObject(params.arguments) ?? {});
    return forSdk(request, params, connection);
  }

  /** What a client of the 2025 era hears from now on. The SDK, whose answer it is, would take a level that is none for an error of its own. */
  #setLogLevel(request: JSONRPCRequest, connection: Connection): JSONRPCRequest | null {
    const params = asObject(request.params);
    if (this.dialectOf(asObject(params?._meta)).declaration.era === "2026") return request;
    const level = asLogLevel(params?.level);
    if (level === undefined) {
      connection.reply(request.id, { fault: { code: "invalid_params", message: noLogLevel(params?.level) } });
      return null;
    }
    connection.logLevel = level;
    return request;
  }

  /** Takes the answer to a question of one of the sender's tasks; `false` when it is none. */
  response(message: JSONRPCMessage, extra: MessageExtraInfo | undefined, connection: Connection): boolean {
    const answer = asAnswer(message);
    if (answer === undefined) return false;
    const { sessionId } = connection;
    const sender = { id: "", authInfo: extra?.authInfo, sessionId, httpRequest: extra?.request };
    const identity = this.identityOf(sender, connection);
    if (identity !== null) {
      takeAnswer(this.shared, identity.owner, answer).catch((error: unknown) =>
        this.shared.logger.error({ error: describeError(error) }, "an answer could not be kept"),
      );
    }
    return true;
  }

  /** Whether a direct call of the tool may go on as a task. */
  #promotes({ promoteAfterMs }: Callee): boolean {
    return this.shared.fallbackTools && promoteAfterMs !== undefined;
  }

  #createsFast(
    toolName: string,
    intent: TaskIntent,
    request: JSONRPCRequest,
    extra: MessageExtraInfo | undefined,
    connection: Connection,
  ): boolean {
    const entry = this.#tools.get(toolName);
    if (!this.shared.fastPath || entry === undefined || needsSdk(entry.tool, intent)) return false;
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
    const envelope = envelopeOf(context.mcpReq);
    if (envelope !== undefined) connection.admitted(envelope);
    const first = await this.#askFirst(tool, input, context, sender, connection);
    if ("answer" in first) {
      connection.answer(sender.id, first.answer);
      return PLACEHOLDER;
    }
    const intent = connection.intentOf(sender.id);
    const attendant = intent === undefined && this.#promotes(tool) ? attendantOf(this, context) : null;
    if (attendant !== null) {
      const answer = await callPromotable(this, tool, input, first.answers, context, attendant);
      return this.#answer(answer ?? turnAnswer(OVER), sender, context.mcpReq.signal, connection);
    }
    if (intent === undefined) return this.#callDirectly(tool, input, context, sender, first.answers, connection);
    if (first.answers !== undefined) intent.answers = first.answers;
    const { answer, release } = await this.createTask(tool, input, sender, intent, connection);
    connection.answer(sender.id, answer, release);
    return PLACEHOLDER;
  }

  /** On 2026-07-28 the caller is asked before there is a task; elsewhere the call itself asks, once it runs. */
  async #askFirst(
    { name: toolName, askFirst }: Tool,
    input: unknown,
    { mcpReq }: ServerContext,
    sender: Sender,
    connection: Connection,
  ): Promise<{ answers: Answers | undefined } | { answer: Answer }> {
    const { declaration } = this.dialectOf(envelopeOf(mcpReq));
    const state = connection.stateOf(sender.id);
    const isUnderWay = isCallState(state) || taskOfState(state) !== undefined;
    if (askFirst === undefined || declaration.era === "2025" || isUnderWay) return { answers: undefined };
    const owner = this.identityOf(sender, connection)?.owner ?? "";
    const inputResponses = inputResponsesOf(mcpReq);
    const { askable: capabilities } = declaration;
    return this.shared.firstRounds.next({ toolName, askFirst, input, owner, capabilities, inputResponses, state });
  }

  async #callDirectly(
    tool: Tool,
    input: unknown,
    { mcpReq }: ServerContext,
    sender: Sender,
    answers: Answers | undefined,
    connection: Connection,
  ): Promise<JsonObject> {
    const identity = this.identityOf(sender, connection) ?? { owner: "" };
    const { owner } = identity;
    const { parkedCalls } = this.shared;
    const { era, askable } = this.dialectOf(envelopeOf(mcpReq)).declaration;
    const state = connection.stateOf(sender.id);
    if (isCallState(state)) {
      const parked = parkedCalls.find(state, owner, tool.name);
      const turn =
        parked === undefined
          ? OVER
          : await resumeCall(parked, inputResponsesOf(mcpReq), { mcpReq, connection }, parkedCalls);
      return this.#answerTurn(turn, sender, mcpReq.signal, connection);
    }
    const request = this.kept(identity, sender, askable);
    const call = { tool, input, request, owner, era, askable, answers, server: this.server, connection, mcpReq };
    return this.#answerTurn(await callDirectly(call, parkedCalls), sender, mcpReq.signal, connection);
  }

  #answerTurn(turn: Turn, sender: Sender, signal: AbortSignal, connection: Connection): JsonObject {
    return this.#answer(turnAnswer(turn), sender, signal, connection);
  }

  #answer(answer: Answer, sender: Sender, signal: AbortSignal, connection: Connection): JsonObject {
    if ("result" in answer && answer.result.resultType === undefined) return answer.result;
    // To a caller that has cancelled nothing is sent, and an answer kept for the id would be a later request's.
    if (!signal.aborted) connection.answer(sender.id, answer);
    return PLACEHOLDER;
  }

  /** Creates the task that was asked for; `release` lets its side messages out, once the answer has gone before them. */
  async createTask(
    tool: Tool,
    input: unknown,
    sender: Sender,
    intent: TaskIntent,
    connection: Connection,
  ): Promise<{ answer: Answer; release: () => void }> {
    const channel = new SideChannel(connection, sender.id, intent, () => this.shared.runtime.now());
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
    const request = this.kept(identity, sender, intent.askable);
    if (intent.answers !== undefined) request.answers = intent.answers;
    const call: CreateTask = {
      owner: identity.owner,
      toolName: tool.name,
      arguments: intent.arguments,
      ttlMs: intent.ttl,
      request,
      input,
      watcher: channel.watcher,
    };
    if ("idempotencyKey" in intent) call.idempotencyKey = intent.idempotencyKey;
    const { task, replayed } = await runtime.create(call);
    if (replayed) channel.follow(runtime, task);
    if (tool.inlineMs > 0 && intent.dialect.name === TASKS_EXTENSION) {
      const done = await holdInline({ runtime, clock: this.shared.clock }, task, tool.inlineMs);
      if (done !== null) return done;
    }
    const created = intent.dialect.created(task, intent.era, runtime.now());
    const said = intent.dialect.asksByRequest ? tool.immediateResponse(input) : undefined;
    return { result: said === undefined ? created : withMeta(created, { [IMMEDIATE_RESPONSE_META]: said }) };
  }

  /** What the tool may read of the request later. */
  kept(identity: Identity, sender: Sender, askable: JsonObject | undefined): JsonObject {
    const request = keptRequest(identity, sender, this.server, this.shared.keepHeaders);
    if (askable !== undefined) request.clientCapabilities = askable;
    return request;
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
    if (isTaskError(error)) return faultOf(error);
    this.shared.logger.error({ error: describeError(error) }, "a tasks request failed");
    return INTERNAL_FAULT;
  }
}

/** What a call that asks in rounds gets whose state nobody knows here. */
const OVER: Turn = {
  refused: "The call that this requestState continues is over, or runs in another process: call again without it.",
};

function turnAnswer(turn: Turn): Answer {
  if ("refused" in turn) return { fault: { code: "invalid_answer", message: turn.refused } };
  if ("inputRequests" in turn) return { result: { resultType: "input_required", ...turn } };
  return outcomeAnswer(turn.outcome);
}

/** Whether the call may take more than one exchange, which the fast path does not know. */
function needsSdk({ askFirst, inlineMs }: Tool, { era }: TaskIntent): boolean {
  return era === "2026" && (askFirst !== undefined || inlineMs > 0);
}

/** The request without what the SDK would refuse: a `task` that its schema does not allow (a ttl of null, for one), and a `requestState` that is ours. */
function forSdk(request: JSONRPCRequest, params: JsonObject, connection: Connection): JSONRPCRequest {
  const { task, requestState, ...rest } = params;
  const isOurs = isFirstState(requestState) || isCallState(requestState) || taskOfState(requestState) !== undefined;
  if (isOurs) connection.keepState(request.id, requestState as string);
  if (task === undefined && !isOurs) return request;
  return { ...request, params: isOurs || requestState === undefined ? rest : { ...rest, requestState } };
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
