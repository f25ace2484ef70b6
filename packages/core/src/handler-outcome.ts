/** What a handler hands back or throws, made fit to be stored: an outcome that no store can take would never land. */
import type { HandlerOutcome } from "./context.js";
import { textOfThrown } from "./logger.js";
import { boundedText } from "./status-message.js";
import type { Outcome } from "./task.js";

/** In UTF-16 units; more of a thrown text says nothing more. */
const MAX_THROWN_TEXT = 100_000;

const KINDS: ReadonlySet<unknown> = new Set(["result", "error_result", "threw", "protocol_error"]);

/** The outcome of a call that threw `thrown`. */
export function thrownOutcome(thrown: unknown): Extract<Outcome, { kind: "threw" }> {
  return { kind: "threw", message: boundedText(textOfThrown(thrown), MAX_THROWN_TEXT) };
}

/** `outcome` itself where it is one, JSON can carry it and it has at most `maxBytes`; else one that says what was wrong. */
export function storableOutcome(outcome: HandlerOutcome, maxBytes: number): HandlerOutcome {
  if (typeof outcome !== "object" || outcome === null || !KINDS.has(outcome.kind))
    return { kind: "threw", message: "The tool returned nothing that is an outcome." };
  if (outcome.kind === "threw") return { ...outcome, message: boundedText(outcome.message, MAX_THROWN_TEXT) };
  const problem = problemOf(outcome.kind === "protocol_error" ? outcome.error : outcome.result, maxBytes);
  return problem ?? outcome;
}

function problemOf(payload: object, maxBytes: number): Outcome | undefined {
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(payload));
  } catch (error) {
    return { kind: "threw", message: `The tool's result cannot be written as JSON: ${textOfThrown(error)}` };
  }
  if (bytes <= maxBytes) return undefined;
  const message = `The tool's result has ${bytes} bytes as JSON; at most ${maxBytes} are kept.`;
  return { kind: "threw", reason: "result_too_large", message };
}
