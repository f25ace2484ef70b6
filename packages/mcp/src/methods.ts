/** The tasks methods: who asks, which dialect answers, and what the runtime says. */
import { isTerminal, type JsonObject, type TaskRecord } from "@claimcheck/core";
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
import { wireError } from "./error-map.js";
import { asObject } from "./request.js";

/** One request of a tasks method, as its handler sees it. */
interface Asked {
  binding: Binding;
  dialect: Dialect;
  owner: string;
  params: JsonObject;
  context: ServerContext;
}

type Method = (asked: Asked) => Promise<Answer>;

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
 * has no other way to list, or to fetch a result.
 */
const OWN_METHODS: Readonly<Record<string, Method>> = {
  [`${DATALAYER_EXTENSION}/get`]: get,
  [`${DATALAYER_EXTENSION}/list`]: list,
  [`${DATALAYER_EXTENSION}/cancel`]: cancel,
  [`${DATALAYER_EXTENSION}/result`]: result,
};

export const TASK_METHODS: readonly string[] = [...Object.keys(METHODS), ...Object.keys(OWN_METHODS)];

/** Clients send stray members with these: v1 of the SDK repeats `task` on every one. */
const anyParams: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": { version: 1, vendor: "claimcheck", validate: (value) => ({ value: asObject(value) ?? {} }) },
};

/** Registers the methods on the binding's server. */
export function serveMethods(binding: Binding): void {
  const serve = (name: string, method: Method, own: Dialect | undefined): void => {
    binding.server.setRequestHandler(name, { params: anyParams }, async (params, context) => {
      const answer = await answering(binding, () => ask(binding, name, method, own, params, context));
      if ("result" in answer) return answer.result;
      const { code, message, data } = "raised" in answer ? answer.raised : wireError(answer.fault);
      throw new ProtocolError(code, message, data);
    });
  };
  for (const [name, method] of Object.entries(METHODS)) serve(name, method, undefined);
  for (const [name, method] of Object.entries(OWN_METHODS)) serve(name, method, datalayer);
}

async function answering(binding: Binding, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    return { fault: binding.faultOf(error) };
  }
}

async function ask(
  binding: Binding,
  name: string,
  method: Method,
  own: Dialect | undefined,
  params: JsonObject,
  context: ServerContext,
): Promise<Answer> {
  const dialect = own ?? binding.dialectOf(context).dialect;
  // Before anything is looked up: what is answered must not depend on what exists.
  if (dialect === null) return { fault: extensionRequired(name) };
  if (method === update && dialect.name !== TASKS_EXTENSION) return { fault: methodNotFound() };
  const identity = binding.identityOf(context);
  if (identity === null) return { fault: identityRequired() };
  return method({ binding, dialect, owner: identity.owner, params, context });
}

async function get({ binding, dialect, owner, params }: Asked): Promise<Answer> {
  const { runtime } = binding.shared;
  return withTaskId(params, async (taskId) => {
    const task = await runtime.get(owner, taskId);
    if (task === null) return { fault: noSuchTask() };
    const partialOutput = asObject(params._meta)?.[PARTIAL_OUTPUT_META] === true;
    return { result: dialect.got(task, { now: runtime.now(), partialOutput }) };
  });
}

async function list({ binding, dialect, owner, params }: Asked): Promise<Answer> {
  const { cursor } = params;
  if (cursor !== undefined && typeof cursor !== "string") {
    return { fault: { code: "invalid_cursor", message: "cursor must be a string that an earlier listing gave." } };
  }
  return dialect.listed(await binding.shared.runtime.list(owner, cursor === undefined ? {} : { cursor }));
}

async function cancel({ binding, dialect, owner, params }: Asked): Promise<Answer> {
  return withTaskId(params, async (taskId) => {
    const cancelled = await binding.shared.runtime.cancel(owner, taskId);
    return cancelled === null ? { fault: noSuchTask() } : dialect.cancelled(cancelled.task, cancelled.cancelled);
  });
}

async function result({ binding, dialect, owner, params, context }: Asked): Promise<Answer> {
  return withTaskId(params, async (taskId) => {
    const { signal, id } = context.mcpReq;
    const endWait = binding.connection.waits(taskId, id);
    try {
      const task = await binding.shared.runtime.wait(owner, taskId, { signal, until: untilAnswered(dialect) });
      if (task === null) return { fault: noSuchTask() };
      const answer = dialect.result(task);
      return answer === "wait" ? { fault: noSuchTask() } : answer;
    } finally {
      endWait();
    }
  });
}

/** A request that was once kept open stays open to the end, also where a working task would have been refused. */
function untilAnswered(dialect: Dialect): (task: TaskRecord) => boolean {
  let open = false;
  return (task) => {
    if (isTerminal(task)) return true;
    open ||= dialect.result(task) === "wait";
    return !open;
  };
}

/** Answers outstanding questions; unknown and answered keys are ignored. */
async function update({ binding, owner, params, context }: Asked): Promise<Answer> {
  const { runtime } = binding.shared;
  return withTaskId(params, async (taskId) => {
    if ((await runtime.get(owner, taskId)) === null) return { fault: noSuchTask() };
    // The SDK takes the answers out of the params, for every request.
    const responses = asObject((context.mcpReq as { inputResponses?: unknown }).inputResponses) ?? {};
    for (const [key, response] of Object.entries(responses)) {
      const answer = asObject(response);
      if (answer !== undefined) await runtime.answer(owner, taskId, key, answer);
    }
    return { result: { resultType: "complete" } };
  });
}

/** Longest id that is looked up; ours have 26 characters. */
const MAX_TASK_ID_LENGTH = 200;

async function withTaskId({ taskId }: JsonObject, work: (taskId: string) => Promise<Answer>): Promise<Answer> {
  if (typeof taskId !== "string") return { fault: invalidTaskId() };
  return taskId.length > MAX_TASK_ID_LENGTH ? { fault: noSuchTask() } : work(taskId);
}

function invalidTaskId(): Fault {
  return { code: "invalid_params", message: "taskId must be a string." };
}
