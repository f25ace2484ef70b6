/** What becomes of what a client sends before the SDK sees it: it is answered, or passed on as the SDK can take it. */
import { describeError, type JsonObject } from "@claimcheck/core";
import type { JSONRPCMessage, JSONRPCRequest, MessageExtraInfo } from "@modelcontextprotocol/server";
import type { Binding } from "./binding.js";
import { type Callee, decideIncoming } from "./calls/incoming-call.js";
import { taskOfState } from "./fallback/attend.js";
import { answersMethod, createsTask } from "./fast-path.js";
import { asLogLevel, noLogLevel } from "./logging.js";
import { isFirstState } from "./questions/ask-first.js";
import { isCallState } from "./questions/parked-calls.js";
import { asAnswer, takeAnswer } from "./questions/take-answer.js";
import type { Connection } from "./wire/connection.js";
import { asObject, messageSender, revisionHasTasks } from "./wire/request.js";
import type { Inbound } from "./wire/transport.js";

/** What `binding` does with what comes in. What is malformed is the SDK's to refuse. */
export function inboundOf(binding: Binding): Inbound {
  return {
    request(request, extra, connection) {
      if (request.method === "tools/call") return takeCall(binding, request, extra, connection);
      if (request.method === "logging/setLevel") return setLogLevel(binding, request, connection);
      return binding.shared.fastPath && answersMethod(binding, request, extra, connection) ? null : request;
    },
    response: (response, extra, connection) => takesAnswer(binding, response, extra, connection),
  };
}

function takeCall(
  binding: Binding,
  request: JSONRPCRequest,
  extra: MessageExtraInfo | undefined,
  connection: Connection,
): JSONRPCRequest | null {
  const params = asObject(request.params);
  const callee = params === undefined ? undefined : calleeOf(binding, params);
  if (params === undefined || callee === undefined) return request;
  const spoken = binding.dialectOf(asObject(params._meta));
  const sender = messageSender(request.id, extra, connection.sessionId);
  const decided = decideIncoming(params, callee, spoken, {
    revisionHasTasks: () => revisionHasTasks(binding.server, extra),
    hasIdentity: () => binding.identityOf(sender, connection) !== null,
  });
  if (decided.kind === "refuse") {
    connection.reply(request.id, { fault: decided.fault });
    return null;
  }
  if (decided.kind === "task") {
    const { intent } = decided;
    if (createsTask(binding, { request, toolName: callee.name, sender, intent, connection })) return null;
    connection.expect(request.id, intent);
  } else if (callee.promotes === true) {
    connection.keepArguments(request.id, asObject(params.arguments) ?? {});
  }
  return forSdk(request, params, connection);
}

/** `undefined` when there is no such tool, which is the SDK's to say. */
function calleeOf(binding: Binding, { name }: JsonObject): Callee | undefined {
  if (typeof name !== "string") return undefined;
  const entry = binding.toolEntry(name);
  if (entry !== undefined) return entry.tool;
  return binding.mcp.toolInputSchemaJson(name) === undefined ? undefined : { name, taskSupport: "forbidden" };
}

/** The request without what the SDK would refuse: a `task` that its schema does not allow (a ttl of null, for one), and a `requestState` that is ours. */
function forSdk(request: JSONRPCRequest, params: JsonObject, connection: Connection): JSONRPCRequest {
  const { task, requestState, ...rest } = params;
  const isOurs = isFirstState(requestState) || isCallState(requestState) || taskOfState(requestState) !== undefined;
  if (isOurs) connection.keepState(request.id, requestState as string);
  if (task === undefined && !isOurs) return request;
  return { ...request, params: isOurs || requestState === undefined ? rest : { ...rest, requestState } };
}

/** What a client of the 2025 era hears from now on. The SDK, whose answer it is, would take a level that is none for an error of its own. */
function setLogLevel(binding: Binding, request: JSONRPCRequest, connection: Connection): JSONRPCRequest | null {
  const params = asObject(request.params);
  if (binding.dialectOf(asObject(params?._meta)).declaration.era === "2026") return request;
  const level = asLogLevel(params?.level);
  if (level === undefined) {
    connection.reply(request.id, { fault: { code: "invalid_params", message: noLogLevel(params?.level) } });
    return null;
  }
  connection.logLevel = level;
  return request;
}

/** Takes the answer to a question of one of the sender's tasks; `false` when it is none. */
function takesAnswer(
  binding: Binding,
  message: JSONRPCMessage,
  extra: MessageExtraInfo | undefined,
  connection: Connection,
): boolean {
  const answer = asAnswer(message);
  if (answer === undefined) return false;
  const sender = { authInfo: extra?.authInfo, sessionId: connection.sessionId, httpRequest: extra?.request };
  const identity = binding.identityOf(sender, connection);
  if (identity === null) return true;
  takeAnswer(binding.shared, identity.owner, answer).catch((error: unknown) =>
    binding.shared.logger.error({ error: describeError(error) }, "an answer could not be kept"),
  );
  return true;
}
