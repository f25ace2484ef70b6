/**
 * Waiting for a task on behalf of a caller that knows nothing of tasks: for so long, woken at once, asking the caller
 * meanwhile what the task asks, and answering in the end with the outcome of the call or with a handle.
 */
import { setImmediate } from "node:timers/promises";
import {
  isTerminal,
  type JsonObject,
  outstandingQuestions,
  type TaskRecord,
  type TerminalTask,
} from "@claimcheck/core";
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Binding, Shared } from "../binding.js";
import { waitAtMost } from "../calls/inline-window.js";
import { type Answer, type Era, PARTIAL_OUTPUT_META } from "../dialects/dialect.js";
import { inputRequests } from "../dialects/input-requests.js";
import { outcomeAnswer, partialOutputOf, partialResult, withMeta } from "../dialects/tool-result.js";
import type { Identity } from "../owner.js";
import { lackingCapability } from "../questions/client-capabilities.js";
import type { Connection } from "../wire/connection.js";
import { envelopeOf, type Sender, senderOf } from "../wire/request.js";
import { handle } from "./handle.js";

/** Whose request waits. */
export interface Attendant {
  identity: Identity;
  era: Era;
  /** What the client said about being asked; `undefined` when it said nothing to this process. */
  askable: JsonObject | undefined;
  sender: Sender;
  connection: Connection;
  /** Fires when the request is cancelled, or its caller is gone. */
  signal: AbortSignal;
}

/** Who sent the request; `null` for somebody who can own no task. */
export function attendantOf(binding: Binding, context: ServerContext): Attendant | null {
  const { connection } = binding;
  const sender = senderOf(context);
  const identity = binding.identityOf(sender, connection);
  if (identity === null) return null;
  const { era, askable } = binding.dialectOf(envelopeOf(context.mcpReq)).declaration;
  return { identity, era, askable, sender, connection, signal: context.mcpReq.signal };
}

const PREFIX = "claimcheck.task.";

/** The task that a `requestState` of {@link attend} names; `undefined` for any other state. */
export function taskOfState(state: unknown): string | undefined {
  return typeof state === "string" && state.startsWith(PREFIX) ? state.slice(PREFIX.length) : undefined;
}

/**
 * @returns `null` when there is no such task
 * @throws the signal's reason when the caller does not wait any more, TaskError `limit_reached` when too many of the owner's wait
 */
export async function attend(
  { runtime, clock, deliveries }: Shared,
  taskId: string,
  attendant: Attendant,
  windowMs: number,
): Promise<Answer | null> {
  const { era, askable, connection, sender, signal } = attendant;
  const { owner } = attendant.identity;
  const carry = era === "2025" ? deliveries.carrier({ connection, sender, owner, askable }) : undefined;
  const until = (task: TaskRecord): boolean => {
    if (outstandingQuestions(task).length === 0) return false;
    if (carry === undefined || !canAsk(task, attendant)) return true;
    carry(task);
    return false;
  };
  const seen = await waitAtMost({ runtime, clock }, owner, taskId, windowMs, { until, signal });
  if (seen === null) return null;
  if (seen !== undefined && isTerminal(seen)) return endAnswer(seen);
  // Questions that are asked together are answered together.
  if (seen !== undefined) await setImmediate();
  const task = await runtime.get(owner, taskId);
  return task === null ? null : stateAnswer(task, attendant);
}

/** How the task stands, for a caller who waits no more. */
export function stateAnswer(task: TaskRecord, attendant: Attendant): Answer {
  if (isTerminal(task)) return endAnswer(task);
  if (attendant.era === "2025" || !canAsk(task, attendant)) return { result: handle(task) };
  // A round of the call (2026-07-28, SEP-2322): the next one brings the answers.
  const requestState = `${PREFIX}${task.taskId}`;
  return { result: { resultType: "input_required", inputRequests: inputRequests(task), requestState } };
}

/** Whether everything that the task asks may be asked of this client; of one that has said nothing, nothing is known. */
function canAsk(task: TaskRecord, { askable }: Attendant): boolean {
  const questions = outstandingQuestions(task);
  if (askable === undefined || questions.length === 0) return false;
  return questions.every((question) => lackingCapability(question, askable) === null);
}

/** The outcome as the call would have answered it; before what went wrong, what the work had produced until then. */
export function endAnswer(task: TerminalTask): Answer {
  if (task.status === "cancelled") {
    const result = { ...afterOutput(task, `Task ${task.taskId} was cancelled.`), isError: true };
    return { result: withMeta(result, { [PARTIAL_OUTPUT_META]: true }) };
  }
  if (task.outcome.kind !== "threw") return outcomeAnswer(task.outcome);
  return { result: { ...afterOutput(task, task.outcome.message), isError: true } };
}

function afterOutput(task: TaskRecord, text: string): JsonObject {
  return partialResult([...(partialOutputOf(task) ?? []), text]);
}
