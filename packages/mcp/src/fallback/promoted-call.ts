/**
 * Direct calls that may outlast their caller's patience: each is a task from the start, and one that takes longer than
 * its tool's limit is answered with a handle while the work goes on. A caller that cancels before has the work stopped.
 */
import {
  type CreateTask,
  describeError,
  isTerminal,
  type JsonObject,
  type TaskNews,
  type TerminalTask,
} from "@claimcheck/core";
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Binding, Shared } from "../binding.js";
import { DirectChannel } from "../calls/direct-channel.js";
import { type Answer, noSuchTask } from "../dialects/dialect.js";
import type { Answers } from "../questions/ask-first.js";
import { giveAnswers } from "../questions/take-answer.js";
import type { AnyToolConfig } from "../tools/config.js";
import type { Tool } from "../tools/tool.js";
import { inputResponsesOf } from "../wire/request.js";
import { type Attendant, attend, endAnswer, stateAnswer, taskOfState } from "./attend.js";

/** @throws TypeError for a tool whose direct calls cannot go on as tasks, or would do so where nobody could collect them */
export function checkPromotion(
  toolName: string,
  { promoteAfterMs, execution: { taskSupport = "forbidden" } = {} }: AnyToolConfig,
  fallbackTools: boolean,
): void {
  if (promoteAfterMs === undefined) return;
  if (taskSupport !== "optional") {
    throw new TypeError(
      `promoteAfterMs of tool ${toolName} needs taskSupport "optional": with "${taskSupport}" no direct call becomes a task.`,
    );
  }
  if (!fallbackTools) {
    throw new TypeError(
      `promoteAfterMs of tool ${toolName} needs createTasks({ fallbackTools: true }): without those tools its callers could not collect what goes on.`,
    );
  }
}

/** Runs a call as a task, or goes on with one that was asked in a round before; `null` when that one is over. */
export async function callPromotable(
  binding: Binding,
  tool: Tool,
  input: unknown,
  answers: Answers | undefined,
  { mcpReq }: ServerContext,
  attendant: Attendant,
): Promise<Answer | null> {
  const { connection, sender, identity } = attendant;
  const channel = new DirectChannel(mcpReq, connection, attendant.era);
  const args = connection.takeArguments(sender.id);
  const taskId = taskOfState(connection.stateOf(sender.id));
  try {
    if (taskId !== undefined) return await nextRound(binding.shared, taskId, tool, mcpReq, attendant);
    const request = binding.kept(identity, sender, withTaskAnswer(attendant.askable));
    if (answers !== undefined) request.answers = answers as JsonObject;
    const call = { owner: identity.owner, toolName: tool.name, arguments: args, request, input };
    return await firstRound(binding.shared, call, tool, channel, attendant);
  } catch (error) {
    return { fault: binding.faultOf(error) };
  } finally {
    channel.end();
  }
}

/** Whom `task_answer` reaches can be asked by it, whatever else the client declared. */
function withTaskAnswer(askable: JsonObject | undefined): JsonObject {
  return { ...askable, elicitation: { form: {}, url: {} } };
}

async function firstRound(
  shared: Shared,
  call: CreateTask,
  tool: Tool,
  channel: DirectChannel,
  attendant: Attendant,
): Promise<Answer> {
  let ended: TerminalTask | undefined;
  const watcher = (news: TaskNews): boolean => {
    if (news.type === "progress") channel.sendProgress(news.progress.current, news.progress);
    if (news.type === "log") return channel.log(news.message.level, news.message.data, news.message.logger);
    // A task that is kept for no time at all cannot be read after its end.
    if (news.type === "changed" && isTerminal(news.task)) ended = news.task;
    return false;
  };
  const { task } = await shared.runtime.create({ ...call, watcher });
  const answer = await attendCall(shared, task.taskId, tool, attendant);
  return answer ?? (ended === undefined ? { fault: noSuchTask() } : endAnswer(ended));
}

async function nextRound(
  shared: Shared,
  taskId: string,
  tool: Tool,
  mcpReq: ServerContext["mcpReq"],
  attendant: Attendant,
): Promise<Answer | null> {
  const { runtime } = shared;
  const { owner } = attendant.identity;
  const task = await runtime.get(owner, taskId);
  if (task === null || task.toolName !== tool.name) return null;
  const refused = await giveAnswers(runtime, task, inputResponsesOf(mcpReq));
  if (refused !== undefined) return { fault: { code: "invalid_answer", message: refused } };
  return attendCall(shared, taskId, tool, attendant);
}

/** Waits as {@link attend} does; a caller that does not wait any more has the work stopped. */
async function attendCall(
  shared: Shared,
  taskId: string,
  { promoteAfterMs }: Tool,
  attendant: Attendant,
): Promise<Answer | null> {
  const { runtime, logger } = shared;
  const { owner } = attendant.identity;
  try {
    return await attend(shared, taskId, attendant, promoteAfterMs);
  } catch (error) {
    if (attendant.signal.aborted) {
      await runtime.cancel(owner, taskId);
      return { fault: { code: "internal", message: "The call was cancelled." } };
    }
    // The work has begun: whatever keeps this request from waiting, its caller has to be told where it goes on.
    logger.warn({ taskId, error: describeError(error) }, "a call could not wait for its task");
    const task = await runtime.get(owner, taskId);
    return task === null ? null : stateAnswer(task, attendant);
  }
}
