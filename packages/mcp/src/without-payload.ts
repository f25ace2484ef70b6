import { describeError, type Logger } from "@claimcheck/core";

/**
 * What the SDK reports beside the protocol, without the messages that it quotes: parsers say what they stumbled over, and
 * what cannot be placed is written out whole. It is meant for logs, where payloads have no business.
 */
export function withoutPayload(error: Error): Error {
  if (error instanceof SyntaxError || error.name === "ZodError")
    return new Error("What came in was no JSON-RPC message, and was dropped.");
  const [, what] = QUOTING.exec(error.message) ?? [];
  return what === undefined ? error : new Error(`${what}.`);
}

const QUOTING = /^(Unknown message type|Received a (?:response|progress notification) for an unknown [a-zA-Z ]+): /;

/** Tells `onerror` what goes wrong beside the protocol, or, where the server's author has none, the log. */
export function errorReporter(logger: Logger, onerror: ((error: Error) => void) | undefined): (error: Error) => void {
  const tell = onerror ?? ((error) => logger.warn({ error: describeError(error) }, "beside the protocol"));
  return (error) => tell(withoutPayload(error));
}
