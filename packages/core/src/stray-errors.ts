/**
 * Errors that a tool leaves behind: thrown from a timer, or a rejection that nobody handles. They belong to the task
 * whose call set the timer and end that task, not the process. Everything else goes on crashing as it would without us.
 */
import { ambientTask, type TaskHandle } from "./context.js";

/** Something that can be told of an error that was left behind. */
export interface StrayErrorTaker extends TaskHandle {
  fail(error: unknown): void;
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

let users = 0;

function take(event: (typeof EVENTS)[number], error: unknown): void {
  const task = ambientTask();
  if (task !== undefined && "fail" in task) (task as StrayErrorTaker).fail(error);
  else if (process.listenerCount(event) === 1) crash(error);
}

/** A listener, merely by being there, keeps the process alive: without one of the program's own, step aside. */
function crash(error: unknown): void {
  for (const event of EVENTS) process.off(event, LISTENERS[event]);
  setImmediate(() => {
    throw error;
  });
}

const LISTENERS = {
  uncaughtException: (error: unknown): void => take("uncaughtException", error),
  unhandledRejection: (error: unknown): void => take("unhandledRejection", error),
};

/**
 * Begins to take stray errors of tasks.
 *
 * @returns a function that ends it
 */
export function takeStrayErrors(): () => void {
  if (users === 0) for (const event of EVENTS) process.on(event, LISTENERS[event]);
  users += 1;
  let released = false;
  return () => {
    if (released) return;
    released = true;
    users -= 1;
    if (users === 0) for (const event of EVENTS) process.off(event, LISTENERS[event]);
  };
}
