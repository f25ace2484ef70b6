/** Calls that run to their end while the caller waits. */
import type { JsonObject } from "@claimcheck/core";
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { Era } from "../dialects/dialect.js";
import type { Answers } from "../questions/ask-first.js";
import { ParkedCall, type ParkedCalls, type Turn } from "../questions/parked-calls.js";
import { sdkAsker } from "../questions/sdk-asker.js";
import type { Tool } from "../tools/tool.js";
import type { Connection } from "../wire/connection.js";
import { DirectChannel } from "./direct-channel.js";

export interface DirectCall {
  tool: Tool;
  input: unknown;
  /** What the tool may read of its request. */
  request: JsonObject;
  owner: string;
  era: Era;
  askable: JsonObject | undefined;
  answers: Answers | undefined;
  server: McpServer["server"];
  connection: Connection;
  mcpReq: ServerContext["mcpReq"];
}

/** Runs the call until it has ended, or until it has to ask its caller in a round of its own. */
export async function callDirectly(call: DirectCall, parked: ParkedCalls): Promise<Turn> {
  if (call.era === "2026") return callInRounds(call, parked);
  const { tool, input, request, mcpReq, server, connection, answers } = call;
  const channel = new DirectChannel(mcpReq, connection, call.era);
  const { signal } = mcpReq;
  const asker = sdkAsker(server, mcpReq);
  try {
    const { sendProgress, log } = channel;
    const caller = { signal, sendProgress, log, asker, ...(answers !== undefined && { answers }) };
    return { outcome: await tool.callDirectly(input, request, caller) };
  } finally {
    channel.end();
  }
}

function callInRounds(call: DirectCall, parked: ParkedCalls): Promise<Turn> {
  const { tool, input, request, answers, owner, askable } = call;
  const asking = new ParkedCall(owner, tool.name, askable);
  const { signal, sendProgress, log } = asking;
  const caller = { signal, sendProgress, log, asker: asking, ...(answers !== undefined && { answers }) };
  const turn = nextTurn(asking, call, parked);
  void tool.callDirectly(input, request, caller).then((outcome) => {
    parked.forget(asking);
    asking.end(outcome);
  });
  return turn;
}

/** Takes up a call that waits for the answers that this request brings. */
export async function resumeCall(
  asking: ParkedCall,
  inputResponses: JsonObject,
  waiting: Pick<DirectCall, "mcpReq" | "connection">,
  parked: ParkedCalls,
): Promise<Turn> {
  const refused = asking.answer(inputResponses);
  return refused === undefined ? nextTurn(asking, waiting, parked) : { refused };
}

/** One round; a caller that cancels while it waits cancels the call. */
async function nextTurn(
  asking: ParkedCall,
  { mcpReq, connection }: Pick<DirectCall, "mcpReq" | "connection">,
  parked: ParkedCalls,
): Promise<Turn> {
  const { signal } = mcpReq;
  const channel = new DirectChannel(mcpReq, connection, "2026");
  const cancel = (): void => asking.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  asking.heardBy(channel);
  try {
    const turn = await asking.turn();
    if ("inputRequests" in turn) parked.park(asking);
    return turn;
  } finally {
    signal.removeEventListener("abort", cancel);
    channel.end();
  }
}
