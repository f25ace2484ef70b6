/** Calls that run to their end while the caller waits. */
import type { JsonObject } from "@claimcheck/core";
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { Era } from "./dialects/dialect.js";
import { DirectProgress } from "./direct-progress.js";
import type { Answers } from "./questions/ask-first.js";
import { ParkedCall, type ParkedCalls, type Turn } from "./questions/parked-calls.js";
import { sdkAsker } from "./questions/sdk-asker.js";
import type { Tool } from "./tool.js";

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
  mcpReq: ServerContext["mcpReq"];
}

/** Runs the call until it has ended, or until it has to ask its caller in a round of its own. */
export async function callDirectly(call: DirectCall, parked: ParkedCalls): Promise<Turn> {
  if (call.era === "2026") return callInRounds(call, parked);
  const { tool, input, request, mcpReq, server, answers } = call;
  const progress = new DirectProgress(mcpReq);
  const { signal } = mcpReq;
  const asker = sdkAsker(server, mcpReq);
  try {
    const caller = { signal, sendProgress: progress.send, asker, ...(answers !== undefined && { answers }) };
    return { outcome: await tool.callDirectly(input, request, caller) };
  } finally {
    progress.end();
  }
}

function callInRounds(call: DirectCall, parked: ParkedCalls): Promise<Turn> {
  const { tool, input, request, answers, owner, askable, mcpReq } = call;
  const asking = new ParkedCall(owner, tool.name, askable);
  const { signal } = asking;
  const caller = {
    signal,
    sendProgress: asking.sendProgress,
    asker: asking,
    ...(answers !== undefined && { answers }),
  };
  const turn = nextTurn(asking, mcpReq, parked);
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
  mcpReq: ServerContext["mcpReq"],
  parked: ParkedCalls,
): Promise<Turn> {
  const refused = asking.answer(inputResponses);
  return refused === undefined ? nextTurn(asking, mcpReq, parked) : { refused };
}

/** One round; a caller that cancels while it waits cancels the call. */
async function nextTurn(asking: ParkedCall, mcpReq: ServerContext["mcpReq"], parked: ParkedCalls): Promise<Turn> {
  const { signal } = mcpReq;
  const progress = new DirectProgress(mcpReq);
  const cancel = (): void => asking.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  asking.heardBy(progress);
  try {
    const turn = await asking.turn();
    if (!("inputRequests" in turn) || parked.park(asking)) return turn;
    asking.cancel();
    return { refused: "Too many calls wait for answers; try again later." };
  } finally {
    signal.removeEventListener("abort", cancel);
    progress.end();
  }
}
