/** The tool results that records come to, the same in every dialect. */
import type { JsonObject, JsonValue, Outcome, TaskRecord } from "@claimcheck/core";
import { type Answer, PARTIAL_OUTPUT_META, RELATED_TASK_META } from "./dialect.js";

/** What text blocks say. */
export function textsOf(blocks: readonly JsonValue[]): string[] {
  return blocks.map(textOf).filter((text) => text !== undefined);
}

function textOf(block: JsonValue): string | undefined {
  if (typeof block !== "object" || block === null || Array.isArray(block)) return undefined;
  return block.type === "text" && typeof block.text === "string" ? block.text : undefined;
}

/** The result of a tool that threw: exactly what the SDK makes of a throw on a direct call. */
export function thrownResult(message: string): JsonObject {
  return { content: [{ type: "text", text: message }], isError: true };
}

/**
 * The result of a task that failed without an error of the protocol: of a tool that threw, exactly what the direct call gives.
 * What the engine ended no direct call is like: there comes first what was produced, as in the result of a cancelled task.
 */
export function failedResult(task: TaskRecord, { message, reason }: Extract<Outcome, { kind: "threw" }>): JsonObject {
  const outputs = partialOutputOf(task);
  if (reason === undefined || outputs === undefined) return thrownResult(message);
  return withMeta({ ...partialResult([...outputs, message]), isError: true }, { [PARTIAL_OUTPUT_META]: true });
}

/** The answer to a direct call that came to `outcome`. */
export function outcomeAnswer(outcome: Outcome): Answer {
  switch (outcome.kind) {
    case "result":
    case "error_result":
      return { result: outcome.result };
    case "threw":
      return { result: thrownResult(outcome.message) };
    case "protocol_error":
      return { raised: outcome.error };
  }
}

/** The partial output of a task that produced any. */
export function partialOutputOf(task: TaskRecord): JsonValue[] | undefined {
  return task.partialOutput !== undefined && task.partialOutput.length > 0 ? task.partialOutput : undefined;
}

/** Partial output as a tool result: text and content blocks as they are, anything else as JSON text. */
export function partialResult(outputs: JsonValue[]): JsonObject {
  return { content: outputs.map(contentBlock) };
}

function contentBlock(output: JsonValue): JsonObject {
  if (typeof output === "string") return { type: "text", text: output };
  return isContentBlock(output) ? output : { type: "text", text: JSON.stringify(output) };
}

const CONTENT_TYPES: readonly unknown[] = ["text", "image", "audio", "resource", "resource_link"];

/** Whether `value` says of itself that it is a content block, by its `type`. */
export function isContentBlock(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && CONTENT_TYPES.includes((value as { type?: unknown }).type);
}

/** `result` with members added to its `_meta`; what the tool put there stays. */
export function withMeta(result: JsonObject, members: JsonObject): JsonObject {
  return { ...result, _meta: { ...metaOf(result), ...members } };
}

/** `result` marked as belonging to the task (2025-11-25). */
export function withRelatedTask(result: JsonObject, taskId: string): JsonObject {
  return withMeta(result, { [RELATED_TASK_META]: { taskId } });
}

/** `result` without related-task metadata, which the 2026-07-28 extension does not know. */
export function withoutRelatedTask(result: JsonObject): JsonObject {
  const { [RELATED_TASK_META]: related, ...meta } = metaOf(result);
  return related === undefined ? result : { ...result, _meta: meta };
}

function metaOf(result: JsonObject): JsonObject {
  const meta = result._meta;
  return typeof meta === "object" && meta !== null && !Array.isArray(meta) ? meta : {};
}
