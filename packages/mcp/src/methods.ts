/** The tasks methods: who asks, which dialect answers, and what the runtime says. */
import type { JsonObject, StopSignal, TaskRecord } from "@claimcheck/core";
import { ProtocolError, type ServerContext, type StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { Binding } from "./binding.js";
import { datalayer } from "./dialects/datalayer.js";
import {
  type Answer,
  DATALAYER_EXTENSION,
  type Dialect,
  type Fault,
  identityRequired,
  methodNotFound,
  noSuchTask,
  PARTIAL_OUTPUT_META,
  TASKS_EXTENSION,
} from "./dialects/dialect.js";
import { extensionRequired } from "./dialects/extension-2026-07-28.js";
import type { Respondent } from "./questions/delivery.js";
import { giveAnswers } from "./questions/take-answer.js";
import type { Connection } from "./wire/connection.js";
import { wireError } from "./wire/error-map.js";
import { asObject, type Declaration, MAX_TASK_ID_LENGTH, type Sender, senderOf } from "./wire/request.js";

/** One request of a tasks method, however it came to be served. */
export interface TaskRequest {
  binding: Binding;
  connection: Connection;
  /** Of the request; `null` when tasks were not negotiated. */
  dialect: Dialect | null;
  declaration: Declaration;
  sender: Sender;
  params: JsonObject;
  /** Fires when nobody waits for the answer any more. */
  signal: StopSignal;
  /** What the SDK took out of the params. */
  inputResponses?: unknown;
  /** Keys of responses that the SDK left out because they are no response to anything. */
  droppedResponses?: readonly string[] | undefined;
}

/** Answers a request of a caller whose dialect and identity are known. */
type Method = (request: TaskRequest, dialect: Dialect, owner: string) => Promise<Answer>;

/** The protocol's names. What a request may call depends on its dialect; the SDK keeps list and result from 2026-era requests by itself. */
const METHODS: Readonly<Record<string, Method>> = {
  "tasks/get": get,
  "tasks/list": list,
  "tasks/cancel": cancel,
  "tasks/result": result,
  "tasks/update": update,
};

/**
 * Our extension's own names, which work on both generations: a 2026-era connection that declared `io.datalayer/tasks`
 * has no other way to list, to fetch a result, or to answer what it is asked.
 */
const OWN_METHODS: Readonly<Record<string, Method>> = {
  [`${DATALAYER_EXTENSION}/get`]: get,
  [`${DATALAYER_EXTENSION}/list`]: list,
  [`${DATALAYER_EXTENSION}/cancel`]: cancel,
  [`${DATALAYER_EXTENSION}/result`]: result,
  [`${DATALAYER_EXTENSION}/update`]: update,
};

export const TASK_METHODS: readonly string[] = [...Object.keys(METHODS), ...Object.keys(OWN_METHODS)];

/** Clients send stray members with these: v1 of the SDK repeats `task` on every one. */
const anyParams: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": { version: 1, vendor: "claimcheck", validate: (value) => ({ value: asObject(value) ?? {} }) },
};

/** Registers the methods on the binding's server. */
export function serveMethods(binding: Binding): void {
  const serve = (name: string, own: Dialect | undefined): void => {
    binding.server.setRequestHandler(name, { params: anyParams }, async (params, context) => {
      const answer = await answerMethod(name, taskRequest(binding, own, params, context));
      if ("result" in answer) return answer.result;
      const { code, message, data } = "raised" in answer ? answer.raised : wireError(answer.fault);
      throw new ProtocolError(code, message, data);
    });
  };
  for (const name of Object.keys(METHODS)) serve(name, undefined);
  for (const name of Object.keys(OWN_METHODS)) serve(name, datalayer);
}

function taskRequest(
  binding: Binding,
  own: Dialect | undefined,
  params: JsonObject,
  context: ServerContext,
): TaskRequest {
  const { envelope, inputResponses, droppedInputResponseKeys, signal } = context.mcpReq as ServerContext["mcpReq"] &
    Record<string, unknown>;
  const meta = asObject(envelope);
  const { dialect, declaration } = binding.dialectOf(meta);
  if (meta !== undefined) binding.connection.admitted(meta);
  return {
    binding,
    connection: binding.connection,
    dialect: own ?? dialect,
    declaration,
    sender: senderOf(context),
    params,
    signal,
    inputResponses,
    droppedResponses: droppedInputResponseKeys as readonly string[] | undefined,
  };
}

/** What goes out for a request of the method `name`. Never rejects. */
export async function answerMethod(name: string, request: TaskRequest): Promise<Answer> {
  try {
    return await ask(name, request);
  } catch (error) {
    return { fault: request.binding.faultOf(error) };
  }
}

/** At once where there is nothing to look up. */
function ask(name: string, request: TaskRequest): Answer | Promise<Answer> {
  const { binding, dialect } = request;
  const method = METHODS[name] ?? OWN_METHODS[name];
  if (method === undefined) return { fault: methodNotFound() };
  // Before anything is looked up: what is answered must not depend on what exists.
  if (dialect === null) return { fault: extensionRequired(name) };
  if (name === "tasks/update" && dialect.name !== TASKS_EXTENSION) return { fault: methodNotFound() };
  const identity = binding.identityOf(request.sender, request.connection);
  if (identity === null) return { fault: identityRequired() };
  // Whoever asks too often may still stop what runs.
  if (method === cancel) return cancel(request, dialect, identity.owner);
  return countPoll(method, request, dialect, identity.owner);
}

/** @throws TaskError `limit_reached` when the owner has asked in vain too often */
async function countPoll(method: Method, request: TaskRequest, dialect: Dialect, owner: string): Promise<Answer> {
  const { polls } = request.binding.shared.runtime;
  polls.check(owner);
  const answer = await method(request, dialect, owner);
  if (isInVain(method, answer)) polls.spend(owner);
  return answer;
}

/** Whether nothing was there to fetch. */
function isInVain(method: Method, answer: Answer): boolean {
  if (!("result" in answer)) return "fault" in answer;
  const { status } = answer.result;
  return method === list || (method === get && (status === "working" || status === "input_required"));
}

async function get(request: TaskRequest, dialect: Dialect, owner: string): Promise<Answer> {
  const { binding, params, declaration } = request;
  const { era } = declaration;
  const taskId = taskIdOf(params);
  if (typeof taskId !== "string") return { fault: taskId };
  const { runtime, deliveries } = binding.shared;
  const task = await runtime.get(owner, taskId);
  if (task === null) return { fault: noSuchTask() };
  if (task.status === "input_required" && era === "2025") deliveries.polled(task, respondent(request, owner));
  const partialOutput = asObject(params._meta)?.[PARTIAL_OUTPUT_META] === true;
  return { result: dialect.got(task, { now: runtime.now(), partialOutput, era }) };
}

async function list({ binding, params }: TaskRequest, dialect: Dialect, owner: string): Promise<Answer> {
  const { cursor } = params;
  if (cursor !== undefined && typeof cursor !== "string") {
    return { fault: { code: "invalid_cursor", message: "cursor must be a string that an earlier listing gave." } };
  }
  return dialect.listed(await binding.shared.runtime.list(owner, cursor === undefined ? {} : { cursor }));
}

async function cancel({ binding, params }: TaskRequest, dialect: Dialect, owner: string): Promise<Answer> {
  const taskId = taskIdOf(params);
  if (typeof taskId !== "string") return { fault: taskId };
  const cancelled = await binding.shared.runtime.cancel(owner, taskId);
  return cancelled === null ? { fault: noSuchTask() } : dialect.cancelled(cancelled.task, cancelled.cancelled);
}

async function result(request: TaskRequest, dialect: Dialect, owner: string): Promise<Answer> {
  const { binding, connection, params, sender, signal, declaration } = request;
  const taskId = taskIdOf(params);
  if (typeof taskId !== "string") return { fault: taskId };
  // Side messages have a choice of streams over HTTP only.
  const endWait = sender.httpRequest === undefined ? undefined : connection.waits(taskId, sender.id);
  const { deliveries } = binding.shared;
  const carry = declaration.era === "2025" ? deliveries.carrier(respondent(request, owner)) : undefined;
  try {
    const until = untilAnswered(dialect, carry);
    const task = await binding.shared.runtime.wait(owner, taskId, { signal, until });
    const answer = task === null ? "wait" : dialect.result(task);
    return answer === "wait" ? { fault: noSuchTask() } : answer;
  } catch (error) {
    // Nobody hears this; it is no failure of the server's that it would have to log.
    if (signal.aborted) return { fault: { code: "internal", message: "The request was cancelled." } };
    throw error;
  } finally {
    endWait?.();
  }
}

function respondent({ connection, sender, declaration }: TaskRequest, owner: string): Respondent {
  return { connection, sender, owner, askable: declaration.askable };
}

/** A request that was once kept open stays open to the end, also where a working task would have been refused, and carries what is asked. */
function untilAnswered(
  dialect: Dialect,
  carry: ((task: TaskRecord) => void) | undefined,
): (task: TaskRecord) => boolean {
  let open = false;
  return (task) => {
    open ||= dialect.result(task) === "wait";
    if (open && task.status === "input_required") carry?.(task);
    return !open;
  };
}

async function update(
  { binding, params, inputResponses, droppedResponses }: TaskRequest,
  _dialect: Dialect,
  owner: string,
): Promise<Answer> {
  const taskId = taskIdOf(params);
  if (typeof taskId !== "string") return { fault: taskId };
  const { runtime } = binding.shared;
  const task = await runtime.get(owner, taskId);
  if (task === null) return { fault: noSuchTask() };
  const refused = await giveAnswers(
    runtime,
    task,
    asObject(inputResponses ?? params.inputResponses) ?? {},
    droppedResponses,
  );
  if (refused !== undefined) return { fault: { code: "invalid_answer", message: refused } };
  return { result: { resultType: "complete" } };
}

/** The id of the task that is asked about, or why there can be none. */
function taskIdOf({ taskId }: JsonObject): string | Fault {
  if (typeof taskId !== "string") return { code: "invalid_params", message: "taskId must be a string." };
  return taskId.length > MAX_TASK_ID_LENGTH ? noSuchTask() : taskId;
}
