/** What a client saw of a task in one answer, in whichever era it asked. */
import type { JsonObject } from "@claimcheck/core";
import type { Exchange } from "./history.js";

/** `ended`: it has, and the answer does not say how. */
export type SeenState = "live" | "ended" | "completed" | "failed" | "cancelled";

export interface Sighting {
  taskId: string;
  state: SeenState;
  /** What the task came to, as the answer tells it. */
  payload?: JsonObject;
  lastUpdatedAt?: number;
  exchange: Exchange;
}

export const NO_SUCH_TASK = "No such task.";

/** Everything that an exchange shows of tasks. */
export function sightingsIn(exchange: Exchange): Sighting[] {
  const { reply, method, params } = exchange;
  if (reply === undefined) return [];
  if ("error" in reply) return method === "tasks/result" ? raised(exchange, String(params.taskId), reply.error) : [];
  const { result } = reply;
  switch (method) {
    case "tools/call":
    case "tasks/get":
      return [seen(exchange, (result.task ?? result) as JsonObject)];
    case "tasks/list":
      return (result.tasks as JsonObject[]).map((task) => seen(exchange, task));
    case "tasks/cancel":
      return result.taskId === undefined ? [] : [seen(exchange, result)];
    case "tasks/result":
      return [{ taskId: String(params.taskId), state: stateOfResult(result), payload: payloadOf(result), exchange }];
    default:
      return [];
  }
}

/** Whether the exchange shows a task that has ended, or that there is none. */
export function isOver(exchange: Exchange): boolean {
  const { reply } = exchange;
  if (reply !== undefined && "error" in reply) return reply.error.message === NO_SUCH_TASK;
  return sightingsIn(exchange).some(({ state }) => state !== "live");
}

/** Adds the tasks of its own that the exchange tells its client of. */
export function noteIds(exchange: Exchange, known: Set<string>): void {
  if (exchange.method !== "tools/call" && exchange.method !== "tasks/list") return;
  for (const { taskId } of sightingsIn(exchange)) known.add(taskId);
}

function seen(exchange: Exchange, task: JsonObject): Sighting {
  const sighting: Sighting = {
    taskId: String(task.taskId),
    state: stateOf(exchange, task),
    lastUpdatedAt: Date.parse(String(task.lastUpdatedAt)),
    exchange,
  };
  if (task.result !== undefined) sighting.payload = payloadOf(task.result as JsonObject);
  return sighting;
}

/** In the 2026 era a tool that threw has completed, with the result that says so. */
function stateOf({ era }: Exchange, { status, result }: JsonObject): SeenState {
  if (status === "working" || status === "input_required") return "live";
  if (era === "2025" || status !== "completed") return status as SeenState;
  if (result === undefined) return "ended";
  return (result as JsonObject).isError === true ? "failed" : "completed";
}

const PARTIAL_META = "io.datalayer/partial-output";

function stateOfResult(result: JsonObject): SeenState {
  // What was kept of a task that failed is marked as partial as well.
  if (result.isError === true) return "failed";
  return (result._meta as JsonObject | undefined)?.[PARTIAL_META] === true ? "cancelled" : "completed";
}

/** Without what an era adds. */
function payloadOf({ content, structuredContent, isError }: JsonObject): JsonObject {
  return { content: content ?? null, structuredContent: structuredContent ?? null, isError: isError ?? false };
}

function raised(exchange: Exchange, taskId: string, { message }: { message: string }): Sighting[] {
  return message.startsWith("The task was cancelled") ? [{ taskId, state: "cancelled", exchange }] : [];
}
