import type { JsonObject, JsonValue, Progress, TaskStatus } from "@claimcheck/core";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { PARTIAL_OUTPUT_META, PROGRESS_META } from "../dialects/dialect.js";
import { asObject } from "../wire/request.js";

/** What a tool asks: an MCP request such as `elicitation/create`, and its params. */
export interface AskedRequest {
  method: string;
  params: JsonObject;
}

/** A task as a client sees it, in the words of the newest revision whatever the dialect. */
export interface TaskView {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** From creation. */
  ttlMs: number;
  pollIntervalMs?: number;
  progress?: Progress;
  /** What there was so far, where it was asked for. */
  partialOutput?: JsonValue[];
  /** The rest as revision 2026-07-28 inlines it. */
  result?: CallToolResult;
  error?: { code: number; message: string; data?: JsonValue };
  inputRequests?: Record<string, AskedRequest>;
}

/** The dialects differ in names only. */
export function viewOf(wire: JsonObject): TaskView {
  const { ttl, ttlMs = ttl, pollInterval, pollIntervalMs = pollInterval, _meta, resultType, ...rest } = wire;
  const { [PROGRESS_META]: progress, [PARTIAL_OUTPUT_META]: partialOutput } = asObject(_meta) ?? {};
  const view = { ...rest, ttlMs, pollIntervalMs, progress, partialOutput };
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined)) as unknown as TaskView;
}
