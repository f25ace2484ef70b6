/** Asks the caller of a direct call of the 2025 era, by the SDK's own requests. */
import { type JsonObject, type QuestionRequest, QuestionWithdrawnError, textOfThrown } from "@claimcheck/core";
import { type McpServer, SdkError, SdkErrorCode, type ServerContext } from "@modelcontextprotocol/server";
import { checkAnswer } from "./answer.js";
import { type Asker, QuestionRefusedError, refuseUndeclared } from "./asker.js";
import { ELICIT, SAMPLE } from "./question.js";

/** The SDK has no "for ever"; this is what a timer can do. */
const LONGEST_MS = 2 ** 31 - 1;

export function sdkAsker(server: McpServer["server"], mcpReq: ServerContext["mcpReq"]): Asker {
  return {
    ask: async (question) => {
      // The SDK asks for samples and roots whoever it is. Of a request that stands alone nothing is known, and its server would not
      // hear the answer.
      refuseUndeclared(question, (server.getClientCapabilities() ?? {}) as JsonObject);
      // The SDK lets an accepted form without content pass.
      const checked = checkAnswer(question, await answered(server, mcpReq, question));
      if ("refused" in checked)
        throw new QuestionRefusedError(`The answer of the client is refused: ${checked.refused}.`);
      return checked.answer;
    },
  };
}

async function answered(
  server: McpServer["server"],
  mcpReq: ServerContext["mcpReq"],
  question: QuestionRequest,
): Promise<JsonObject> {
  try {
    return await send(server, mcpReq, question);
  } catch (error) {
    throw asOurs(error, mcpReq.signal);
  }
}

async function send(
  server: McpServer["server"],
  mcpReq: ServerContext["mcpReq"],
  { method, params, timeoutMs }: QuestionRequest,
): Promise<JsonObject> {
  // Without the request's id the SDK asks on the session's own stream, which a client over HTTP need not have open.
  const options = {
    timeout: Math.min(timeoutMs ?? LONGEST_MS, LONGEST_MS),
    signal: mcpReq.signal,
    relatedRequestId: mcpReq.id,
  };
  if (method === ELICIT)
    return (await mcpReq.elicitInput(withElicitationId(params, mcpReq) as never, options)) as JsonObject;
  if (method === SAMPLE) return (await mcpReq.requestSampling(params as never, options)) as JsonObject;
  return (await server.listRoots(params as never, options)) as JsonObject;
}

/** 2025-11-25 identifies a page by an id that later revisions have no use for. */
function withElicitationId(params: JsonObject, { id }: ServerContext["mcpReq"]): JsonObject {
  return params.mode === "url" ? { ...params, elicitationId: `${id}` } : params;
}

function asOurs(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return new QuestionWithdrawnError("task_ended");
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new QuestionWithdrawnError("timed_out");
  return new QuestionRefusedError(`The client cannot be asked: ${textOfThrown(error)}`);
}
