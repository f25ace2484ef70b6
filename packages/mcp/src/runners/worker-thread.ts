/** The whole program of a worker thread: runs one call at a time for the thread that started it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { runInTask } from "@claimcheck/core";
import { HandlerContext } from "../questions/tool-context.js";
import type { AnyToolHandler } from "../tools/config.js";
import { wrap } from "../tools/outcome.js";
import { ThreadCall } from "./thread-call.js";
import {
  BEGUN,
  type CallMessage,
  type FromThread,
  HANDLED,
  type Shared,
  type ToThread,
  thrownMessage,
} from "./thread-messages.js";

/** So many messages may wait to be looked at; who says more waits, so that no queue grows. */
const MAX_UNHANDLED = 64;

const { shared } = workerData as { shared: Shared };
const calls = new AsyncLocalStorage<ThreadCall>();
let active: ThreadCall | undefined;
let posted = 0;

function post(message: FromThread): void {
  for (;;) {
    const handled = Atomics.load(shared, HANDLED);
    if (((posted - handled) | 0) < MAX_UNHANDLED) break;
    Atomics.wait(shared, HANDLED, handled);
  }
  parentPort?.postMessage(message);
  // After it: what cannot be sent is never looked at.
  posted = (posted + 1) | 0;
}

function take(message: ToThread): void {
  if (message.type === "call") void run(message);
  else if (active !== undefined) active.take(message);
}

async function run(message: CallMessage): Promise<void> {
  Atomics.store(shared, BEGUN, message.call);
  const call = new ThreadCall(message, shared, post);
  active = call;
  try {
    const value = await calls.run(call, () => inTask(call, () => callHandler(message, call)));
    const json = JSON.stringify(wrap(value));
    call.end();
    post({ type: "returned", call: message.call, json });
  } catch (thrown) {
    call.end();
    post({ type: "threw", call: message.call, error: thrownMessage(thrown) });
  }
}

function inTask<T>({ task }: ThreadCall, work: () => T): T {
  return task === null ? work() : runInTask(task, work);
}

async function callHandler(
  { module, exportName, input, answers, checkpoint }: CallMessage,
  call: ThreadCall,
): Promise<unknown> {
  const exported = (await import(module)) as Record<string, unknown>;
  const handler = exported[exportName];
  if (typeof handler !== "function") throw new Error(`The module ${module} exports no function named ${exportName}.`);
  return await (handler as AnyToolHandler)(input, new HandlerContext(call.context, call.asker, answers), checkpoint);
}

/** What no call's way leads to belongs to the call whose code left it behind; of unknown origin it is taken for the one that runs. */
function takeStray(thrown: unknown): void {
  const call = calls.getStore() ?? active;
  post({ type: "stray", call: call?.number, error: thrownMessage(thrown) });
}

process.on("uncaughtException", takeStray);
process.on("unhandledRejection", takeStray);
parentPort?.on("message", take);
