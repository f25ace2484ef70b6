/** What a client has to declare before it may be asked (both specs: a server must not ask in a mode that was not declared). */
import type { JsonObject } from "@claimcheck/core";
import { asObject } from "../wire/request.js";
import { ELICIT, LIST_ROOTS, SAMPLE } from "./question.js";

/**
 * The capability that asking needs and the client did not declare; `null` when there is none. A client of which nothing
 * is known (2025-era requests that stand alone) is asked: it declared what it has to somebody else.
 */
export function lackingCapability(
  { method, params }: { method: string; params: JsonObject },
  capabilities: JsonObject | undefined,
): JsonObject | null {
  if (capabilities === undefined) return null;
  switch (method) {
    case ELICIT:
      return elicits(capabilities, params.mode === "url" ? "url" : "form");
    case SAMPLE:
      return samples(capabilities, params.tools !== undefined || params.toolChoice !== undefined);
    case LIST_ROOTS:
      return asObject(capabilities.roots) === undefined ? { roots: {} } : null;
    default:
      return null;
  }
}

/** An empty declaration is one of forms: it is older than the modes. */
function elicits(capabilities: JsonObject, mode: "form" | "url"): JsonObject | null {
  const declared = asObject(capabilities.elicitation);
  const modes: JsonObject | undefined =
    declared !== undefined && declared.url === undefined ? { form: {}, ...declared } : declared;
  return asObject(modes?.[mode]) === undefined ? { elicitation: { [mode]: {} } } : null;
}

function samples(capabilities: JsonObject, withTools: boolean): JsonObject | null {
  const declared = asObject(capabilities.sampling);
  if (withTools) return asObject(declared?.tools) === undefined ? { sampling: { tools: {} } } : null;
  return declared === undefined ? { sampling: {} } : null;
}
