/** Waiting for a task to be as asked: woken by news of it, never by polling. */
import { TaskError } from "./errors.js";
import { isTerminal, type TaskRecord } from "./task.js";
import type { TaskNews, Watchers } from "./watchers.js";

/** What waiting needs of an `AbortSignal`, which is one; a plain object of this shape costs a tenth of it. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface WaitOptions {
  /** What to wait for. Default: that the task is terminal. */
  until?: (task: TaskRecord) => boolean;
  /** Stops the waiting; the promise then rejects with the signal's reason. The task is not touched. */
  signal?: StopSignal;
}

/** What waiting needs of the runtime. */
export interface WaitingRoom {
  readonly watchers: Watchers;
  /** The owner's task, or `null`. */
  get(owner: string, taskId: string): Promise<TaskRecord | null>;
  /** No news will ever come. */
  isClosed(): boolean;
  /**
   * Takes one who really has to wait; `leave` follows.
   *
   * @throws TaskError `limit_reached` when too many do
   */
  enter(owner: string): void;
  leave(owner: string): void;
}

/** Settles once: with the record as asked, `null` when there is none, or an error; leaves nothing behind. */
export function waitFor(
  room: WaitingRoom,
  owner: string,
  taskId: string,
  { until = isTerminal, signal }: WaitOptions,
): Promise<TaskRecord | null> {
  return new Promise((resolve, reject) => {
    let unsubscribe = (): void => {};
    let state: "looking" | "waiting" | "settled" = "looking";
    const end = (settle: () => void): void => {
      unsubscribe();
      if (state === "waiting") room.leave(owner);
      state = "settled";
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: unknown): void => end(() => reject(error));
    const onAbort = (): void => fail(signal?.reason);
    const consider = (task: TaskRecord | null): void => {
      try {
        // A task that has ended changes no more: whatever else was waited for will never be.
        if (task === null || isTerminal(task) || until(task)) end(() => resolve(task));
        else if (room.isClosed()) fail(closedWhileWaiting());
        else enter();
      } catch (error) {
        fail(error);
      }
    };
    const enter = (): void => {
      // What is read when the wait is over already, begins none.
      if (state !== "looking") return;
      room.enter(owner);
      state = "waiting";
    };
    const hear = (news: TaskNews): void => {
      if (news.type === "closed") fail(closedWhileWaiting());
      else if (news.type === "gone") consider(null);
      else if (news.type === "changed") consider(news.task.owner === owner ? news.task : null);
    };
    // Watching begins before the first read, so that no change falls between the two.
    unsubscribe = room.watchers.add(taskId, hear);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
    else room.get(owner, taskId).then(consider, fail);
  });
}

/** What whoever waits for news of a task hears when none will come. */
export function closedWhileWaiting(): TaskError {
  return new TaskError("not_open", "The server is shutting down; the task can be asked for when it is back.");
}
