/**
 * Errors that a tool leaves behind: thrown from a timer, or a rejection that nobody handles. They belong to the task
 * whose call set the timer and end that task, not the process. Everything else goes on crashing as it would without us.
 */
import { ambientTask, type TaskHandle } from "./context.js";

/** Something that can be told of an error that was left behind. */
export interface StrayErrorTaker extends TaskHandle {
  fail(error: unknown): void;
}

let users = 0;

const LISTENERS = {
  uncaughtException: (error: unknown): void => {
    if (!tellTask(error) && process.listenerCount("uncaughtException") === 1) stepAside(() => throwLater(error));
  },
  unhandledRejection: (reason: unknown): void => {
    if (!tellTask(reason) && process.listenerCount("unhandledRejection") === 1) stepAside(() => rejectAnew(reason));
  },
};

function tellTask(error: unknown): boolean {
  const task = ambientTask();
  if (task === undefined || !("fail" in task)) return false;
  (task as StrayErrorTaker).fail(error);
  return true;
}

/**
 * A listener, merely by being there, changes what becomes of the process. Without one of the program's own, the error
 * comes again with ours away, so that Node does what it was told to do (`--unhandled-rejections`); should the process
 * live on, ours come back.
 */
function stepAside(comeAgain: () => void): void {
  unlisten();
  comeAgain();
  setTimeout(() => {
    if (users > 0) listen();
  }, 0).unref();
}

function throwLater(error: unknown): void {
  setImmediate(() => {
    // The comment on the next line is for Node, which would show this line of ours first, and the error itself below it.
    throw error; // node-do-not-add-exception-line
  });
}

function rejectAnew(reason: unknown): void {
  void Promise.reject(reason);
}

function listen(): void {
  unlisten();
  process.on("uncaughtException", LISTENERS.uncaughtException);
  process.on("unhandledRejection", LISTENERS.unhandledRejection);
}

function unlisten(): void {
  process.off("uncaughtException", LISTENERS.uncaughtException);
  process.off("unhandledRejection", LISTENERS.unhandledRejection);
}

/**
 * Begins to take stray errors of tasks.
 *
 * @returns a function that ends it
 */
export function takeStrayErrors(): () => void {
  if (users === 0) listen();
  users += 1;
  let released = false;
  return () => {
    if (released) return;
    released = true;
    users -= 1;
    if (users === 0) unlisten();
  };
}
