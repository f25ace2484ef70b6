/** What becomes of a call that the SDK lets through: it runs to its end, is asked first, or becomes a task. */
import type { JsonObject } from "@claimcheck/core";
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Binding } from "../binding.js";
import type { Answer } from "../dialects/dialect.js";
import { outcomeAnswer } from "../dialects/tool-result.js";
import { attendantOf, taskOfState } from "../fallback/attend.js";
import { callPromotable } from "../fallback/promoted-call.js";
import type { Answers } from "../questions/ask-first.js";
import { isCallState, type Turn } from "../questions/parked-calls.js";
import type { Tool } from "../tools/tool.js";
import type { Connection } from "../wire/connection.js";
import { type Declaration, envelopeOf, inputResponsesOf, type Sender, senderOf } from "../wire/request.js";
import { createTask } from "./create-task.js";
import { callDirectly, resumeCall } from "./direct-call.js";

/** What a callback of the SDK answers where the answer that goes out is another one. */
const PLACEHOLDER: JsonObject = { content: [], isError: true };

/** What a call that asks in rounds gets whose state nobody knows here. */
const OVER: Turn = {
  refused: "The call that this requestState continues is over, or runs in another process: call again without it.",
};

/** A call whose arguments are valid, and the request that it came in. */
interface Admitted {
  binding: Binding;
  tool: Tool;
  input: unknown;
  context: ServerContext;
  sender: Sender;
  connection: Connection;
  declaration: Declaration;
  /** Which call it continues, where one asks in rounds. */
  state: string | undefined;
}

/** Answers what the SDK is to send, which the connection replaces where it has another answer. */
export async function runCall(
  binding: Binding,
  tool: Tool,
  input: unknown,
  context: ServerContext,
): Promise<JsonObject> {
  const call = admitted(binding, tool, input, context);
  const { sender, connection } = call;
  const first = await askFirst(call);
  if ("answer" in first) return send(call, first.answer);
  const intent = connection.intentOf(sender.id);
  if (intent === undefined) return send(call, await callForResult(call, first.answers));
  if (first.answers !== undefined) intent.answers = first.answers;
  const { answer, release } = await createTask(binding, { tool, input, sender, intent, connection });
  connection.answer(sender.id, answer, release);
  return PLACEHOLDER;
}

function admitted(binding: Binding, tool: Tool, input: unknown, context: ServerContext): Admitted {
  const { connection } = binding;
  const sender = senderOf(context);
  const envelope = envelopeOf(context.mcpReq);
  if (envelope !== undefined) connection.admitted(envelope);
  const { declaration } = binding.dialectOf(envelope);
  return { binding, tool, input, context, sender, connection, declaration, state: connection.stateOf(sender.id) };
}

/** On 2026-07-28 the caller is asked before there is a task; elsewhere the call itself asks, once it runs. */
async function askFirst(call: Admitted): Promise<{ answers: Answers | undefined } | { answer: Answer }> {
  const { binding, tool, input, context, sender, connection, declaration, state } = call;
  const { name: toolName, askFirst } = tool;
  const isUnderWay = isCallState(state) || taskOfState(state) !== undefined;
  if (askFirst === undefined || declaration.era === "2025" || isUnderWay) return { answers: undefined };
  const owner = binding.identityOf(sender, connection)?.owner ?? "";
  const inputResponses = inputResponsesOf(context.mcpReq);
  const { askable: capabilities } = declaration;
  return binding.shared.firstRounds.next({ toolName, askFirst, input, owner, capabilities, inputResponses, state });
}

/** Runs a call whose caller waits for its result; as a task, where it may go on as one. */
async function callForResult(call: Admitted, answers: Answers | undefined): Promise<Answer> {
  const { binding, tool, input, context } = call;
  const attendant = tool.promotes ? attendantOf(binding, context) : null;
  if (attendant === null) return turnAnswer(await nextTurn(call, answers));
  return (await callPromotable(binding, tool, input, answers, context, attendant)) ?? turnAnswer(OVER);
}

async function nextTurn(call: Admitted, answers: Answers | undefined): Promise<Turn> {
  const { binding, tool, input, sender, connection, state } = call;
  const { mcpReq } = call.context;
  const { parkedCalls } = binding.shared;
  const identity = binding.identityOf(sender, connection) ?? { owner: "" };
  const { owner } = identity;
  if (isCallState(state)) {
    const parked = parkedCalls.find(state, owner, tool.name);
    if (parked === undefined) return OVER;
    return resumeCall(parked, inputResponsesOf(mcpReq), { mcpReq, connection }, parkedCalls);
  }
  const { era, askable } = call.declaration;
  const request = binding.kept(identity, sender, askable);
  const { server } = binding;
  return callDirectly({ tool, input, request, owner, era, askable, answers, server, connection, mcpReq }, parkedCalls);
}

function turnAnswer(turn: Turn): Answer {
  if ("refused" in turn) return { fault: { code: "invalid_answer", message: turn.refused } };
  if ("inputRequests" in turn) return { result: { resultType: "input_required", ...turn } };
  return outcomeAnswer(turn.outcome);
}

/** A plain result is the SDK's to send; it knows of no other answer. */
function send({ context, connection, sender }: Admitted, answer: Answer): JsonObject {
  if ("result" in answer && answer.result.resultType === undefined) return answer.result;
  // To a caller that has cancelled nothing is sent, and an answer kept for the id would be a later request's.
  if (!context.mcpReq.signal.aborted) connection.answer(sender.id, answer);
  return PLACEHOLDER;
}
