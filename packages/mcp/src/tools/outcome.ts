/** What a tool's handler comes to: the same on the direct and on the task path. */
import {
  describeError,
  type HandlerOutcome,
  type JsonObject,
  type JsonValue,
  type Logger,
  retryAfter,
  type ToolRecovery,
  textOfThrown,
} from "@claimcheck/core";
import { isCallToolResult, ProtocolError, type StandardSchemaV1 } from "@modelcontextprotocol/server";
import { isContentBlock } from "../dialects/tool-result.js";

export interface OutcomeRules {
  toolName: string;
  outputSchema: StandardSchemaV1 | undefined;
  /** Says which errors are worth another try. */
  recovery?: ToolRecovery<unknown> | undefined;
  /** Answer unexpected errors with one fixed sentence; the error itself goes to the log. */
  maskErrors: boolean;
  logger: Logger;
}

/** What callers hear of an unexpected error when errors are masked. */
const MASKED_MESSAGE = "The tool failed with an internal error.";

/** Runs `handler` and says what it came to. Never rejects. */
export async function outcomeOf(handler: () => unknown, rules: OutcomeRules): Promise<HandlerOutcome> {
  try {
    const result = wrap(await handler());
    checkShape(result, rules);
    if (rules.outputSchema !== undefined && result.isError !== true)
      await checkStructure(result, rules.outputSchema, rules);
    return { kind: result.isError === true ? "error_result" : "result", result };
  } catch (error) {
    return thrown(error, rules);
  }
}

function thrown(error: unknown, rules: OutcomeRules): HandlerOutcome {
  const raised = protocolErrorOf(error);
  if (raised !== undefined) return { kind: "protocol_error", error: raised };
  return { kind: "threw", message: messageOf(error, rules), retry: retryAfter(error, rules.recovery) };
}

function messageOf(error: unknown, { maskErrors, logger, toolName }: OutcomeRules): string {
  if (!maskErrors || isOurs(error)) return textOfThrown(error);
  logger.error({ toolName, error: describeError(error) }, "a tool failed");
  return MASKED_MESSAGE;
}

/** Errors whose text was written for the caller. */
function isOurs(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ["InvalidResultError", "QuestionRefusedError", "QuestionWithdrawnError"].includes(error.name);
}

/** The JSON-RPC error that a tool raised on purpose; also one of another copy of the SDK. */
function protocolErrorOf(error: unknown): { code: number; message: string; data?: JsonValue } | undefined {
  if (!(error instanceof ProtocolError) && !(error instanceof Error && error.name === "ProtocolError"))
    return undefined;
  const { code, message, data } = error as ProtocolError;
  if (!Number.isSafeInteger(code)) return undefined;
  return data === undefined ? { code, message } : { code, message, data: data as JsonValue };
}

/** A tool result of whatever a handler returned; see {@link import("./config.js").ToolHandler}. */
export function wrap(value: unknown): JsonObject {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return text(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return text(String(value));
  refuseInterim(value);
  if (typeof value === "object" && isWholeResult(value)) return whole(value);
  if (isBlockList(value)) return { content: value };
  const json = jsonOf(value);
  const plain = JSON.parse(json) as JsonValue;
  if (typeof plain !== "object" || plain === null || Array.isArray(plain)) return text(json);
  return { ...text(json), structuredContent: plain };
}

/** An answer that asks for something is not the tool's output, and must not be taken for it. */
function refuseInterim(value: object | symbol): void {
  if (typeof value !== "object" || (value as { resultType?: unknown }).resultType !== "input_required") return;
  throw new InvalidResultError("The tool returned an input_required result; a tool asks through its context instead.");
}

function text(content: string): JsonObject {
  return { content: [{ type: "text", text: content }] };
}

function jsonOf(value: unknown): string {
  const json = JSON.stringify(value);
  if (json === undefined) throw new InvalidResultError(`The tool returned a ${typeof value}, which JSON cannot carry.`);
  return json;
}

/** Decided by the members' types, so that a domain object with a member named `content` is not taken for a result. */
function isWholeResult(value: object): value is JsonObject {
  const { content, structuredContent, isError } = value as Record<string, unknown>;
  if (Array.isArray(content)) return true;
  if (content !== undefined) return false;
  return typeof isError === "boolean" || (typeof structuredContent === "object" && structuredContent !== null);
}

/** Older clients read `content` only (2025-11-25, server/tools, "Structured Content"). */
function whole(result: JsonObject): JsonObject {
  if (Array.isArray(result.content)) return result;
  if (result.structuredContent === undefined) return { ...result, content: [] };
  return { ...result, ...text(jsonOf(result.structuredContent)) };
}

function isBlockList(value: unknown): value is JsonValue[] {
  return Array.isArray(value) && value.length > 0 && value.every(isContentBlock);
}

class InvalidResultError extends Error {
  override readonly name = "InvalidResultError";
}

/** What the SDK checks on a direct call is checked for both paths here; the wording is the SDK's. */
function checkShape(result: JsonObject, { toolName }: OutcomeRules): void {
  if (isPlainText(result) || isCallToolResult(result)) return;
  throw new InvalidResultError(`Tool ${toolName} returned an invalid result: it does not match CallToolResult.`);
}

async function checkStructure(
  { structuredContent }: JsonObject,
  outputSchema: StandardSchemaV1,
  { toolName }: OutcomeRules,
): Promise<void> {
  if (structuredContent === undefined) {
    throw new InvalidResultError(
      `Output validation error: Tool ${toolName} has an output schema but no structured content was provided`,
    );
  }
  const checked = await outputSchema["~standard"].validate(structuredContent);
  if (checked.issues === undefined) return;
  const why = describeIssues(checked.issues);
  throw new InvalidResultError(`Output validation error: Invalid structured content for tool ${toolName}: ${why}`);
}

/** Most results are: it saves them a walk through the SDK's schema. */
function isPlainText({ content, structuredContent, _meta, isError }: JsonObject): boolean {
  if (structuredContent !== undefined || _meta !== undefined) return false;
  if (isError !== undefined && typeof isError !== "boolean") return false;
  return Array.isArray(content) && content.every(isTextBlock);
}

function isTextBlock(block: JsonValue): boolean {
  if (typeof block !== "object" || block === null || Array.isArray(block)) return false;
  const { type, text: content, annotations, _meta } = block;
  return type === "text" && typeof content === "string" && annotations === undefined && _meta === undefined;
}

/** One line an issue, as the SDK words them. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(({ message, path }) => `${pathOf(path)}${message}`).join(", ");
}

function pathOf(path: StandardSchemaV1.Issue["path"]): string {
  if (path === undefined || path.length === 0) return "";
  return `${path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")}: `;
}
