/** The questions that a tool may put to its caller, in the author's words and as the MCP request that asks them. */
import type { JsonObject, QuestionRequest } from "@claimcheck/core";
import { inputRequired, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";

export const ELICIT = "elicitation/create";
export const SAMPLE = "sampling/createMessage";
export const LIST_ROOTS = "roots/list";

/** How long the answer is waited for. */
export interface Patience {
  /** Milliseconds. Default: as long as the call lives. */
  timeoutMs?: number;
}

/** A JSON Schema, also one written `as const`. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A form to fill in (`elicitation/create` in mode `form`). */
export interface FormQuestion extends Patience {
  message: string;
  /** A JSON Schema of the spec's restricted kind (a flat object of primitives), or a Standard Schema that describes itself as one. */
  requestedSchema: JsonSchema | StandardSchemaWithJSON;
}

/** A page to open, for what must not pass through the client, such as credentials (`elicitation/create` in mode `url`). */
export interface UrlQuestion extends Patience {
  url: string;
  /** Why. Default: a sentence that names the page's host. */
  message?: string;
}

/** The MCP request that asks `question`. */
export function elicitation(question: FormQuestion | UrlQuestion): QuestionRequest {
  const params = "url" in question ? urlParams(question) : formParams(question);
  return withPatience({ method: ELICIT, params }, question);
}

export function sampling(params: JsonObject, patience: Patience): QuestionRequest {
  return withPatience({ method: SAMPLE, params }, patience);
}

export function listRoots(patience: Patience): QuestionRequest {
  return withPatience({ method: LIST_ROOTS, params: {} }, patience);
}

function urlParams({ url, message }: UrlQuestion): JsonObject {
  // Throws for what is no URL, in the tool that made it rather than at some client.
  const { host } = new URL(url);
  return { mode: "url", message: message ?? `Please open the page on ${host} to go on.`, url };
}

function formParams({ message, requestedSchema }: FormQuestion): JsonObject {
  return { mode: "form", message, requestedSchema: wireSchema(requestedSchema) };
}

function wireSchema(schema: FormQuestion["requestedSchema"]): JsonObject {
  if (!isStandard(schema)) return schema as JsonObject;
  const { params } = inputRequired.elicit({ message: "", requestedSchema: schema });
  const { requestedSchema } = params as { requestedSchema: JsonObject };
  return JSON.parse(JSON.stringify(requestedSchema)) as JsonObject;
}

export function isStandard(schema: FormQuestion["requestedSchema"]): schema is StandardSchemaWithJSON {
  return "~standard" in schema;
}

function withPatience(request: QuestionRequest, { timeoutMs }: Patience): QuestionRequest {
  if (timeoutMs === undefined) return request;
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
    throw new RangeError(`timeoutMs must be a positive number of milliseconds; got ${timeoutMs}`);
  }
  return { ...request, timeoutMs };
}
