/** Making the task that a call asks for, and answering the call with it. */
import type { CreateTask } from "@claimcheck/core";
import type { Binding } from "../binding.js";
import { type Answer, IMMEDIATE_RESPONSE_META, identityRequired, TASKS_EXTENSION } from "../dialects/dialect.js";
import { withMeta } from "../dialects/tool-result.js";
import type { Tool } from "../tools/tool.js";
import type { Connection, TaskIntent } from "../wire/connection.js";
import type { Sender } from "../wire/request.js";
import { holdInline } from "./inline-window.js";
import { SideChannel } from "./side-channel.js";

/** A call whose arguments are valid and whose caller gets a task. */
export interface TaskCall {
  tool: Tool;
  /** The arguments, as the tool's schema made them. */
  input: unknown;
  sender: Sender;
  intent: TaskIntent;
  connection: Connection;
}

/** Creates the task; `release` lets its side messages out, once the answer has gone before them. Never rejects. */
export async function createTask(binding: Binding, call: TaskCall): Promise<{ answer: Answer; release: () => void }> {
  const { connection, sender, intent } = call;
  const channel = new SideChannel(connection, sender.id, intent, () => binding.shared.runtime.now());
  try {
    return { answer: await created(binding, call, channel), release: channel.release };
  } catch (error) {
    return { answer: { fault: binding.faultOf(error) }, release: channel.release };
  }
}

async function created(binding: Binding, call: TaskCall, channel: SideChannel): Promise<Answer> {
  const { tool, input, sender, intent, connection } = call;
  const identity = binding.identityOf(sender, connection);
  if (identity === null) return { fault: identityRequired() };
  const { runtime, clock } = binding.shared;
  const request = binding.kept(identity, sender, intent.askable);
  if (intent.answers !== undefined) request.answers = intent.answers;
  const asked: CreateTask = {
    owner: identity.owner,
    toolName: tool.name,
    arguments: intent.arguments,
    ttlMs: intent.ttl,
    request,
    input,
    watcher: channel.watcher,
  };
  if ("idempotencyKey" in intent) asked.idempotencyKey = intent.idempotencyKey;
  const { task, replayed } = await runtime.create(asked);
  if (replayed) channel.follow(runtime, task);
  if (tool.inlineMs > 0 && intent.dialect.name === TASKS_EXTENSION) {
    const done = await holdInline({ runtime, clock }, task, tool.inlineMs);
    if (done !== null) return done;
  }
  const result = intent.dialect.created(task, intent.era, runtime.now());
  const said = intent.dialect.asksByRequest ? tool.immediateResponse(input) : undefined;
  return { result: said === undefined ? result : withMeta(result, { [IMMEDIATE_RESPONSE_META]: said }) };
}
