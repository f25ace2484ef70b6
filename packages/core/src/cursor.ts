/** Opaque cursors over the total order of a listing: newest first, by `createdAt` and then by `taskId`. */
import { TaskError } from "./errors.js";
import type { TaskPage } from "./store.js";
import type { TaskSummary } from "./task.js";

/** Where a task stands in a listing. */
export interface ListPosition {
  createdAt: number;
  taskId: string;
}

/** Negative when `a` is older than `b`. */
export function comparePositions(a: ListPosition, b: ListPosition): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  return a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : 0;
}

/** The cursor that goes on after `position`. */
export function encodeCursor(position: ListPosition): string {
  return Buffer.from(JSON.stringify([position.createdAt, position.taskId])).toString("base64url");
}

/**
 * The position that a cursor of {@link encodeCursor} stands for.
 *
 * @throws TaskError `invalid_cursor` for anything else
 */
export function decodeCursor(cursor: string): ListPosition {
  const position = parse(cursor);
  if (position === undefined || encodeCursor(position) !== cursor) {
    throw new TaskError(
      "invalid_cursor",
      "The cursor is none that this server made; leave it out to start from the newest task.",
    );
  }
  return position;
}

/** The page of the first `limit` of `tasks`; to have a cursor where there is more, it has to be given one more than that. */
export function pageOf(tasks: TaskSummary[], limit: number): TaskPage {
  const last = tasks[limit - 1];
  if (last === undefined || tasks.length <= limit) return { tasks };
  return { tasks: tasks.slice(0, limit), nextCursor: encodeCursor(last) };
}

function parse(cursor: string): ListPosition | undefined {
  try {
    const [createdAt, taskId, ...rest] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof createdAt !== "number" || typeof taskId !== "string" || rest.length > 0) return undefined;
    return { createdAt, taskId };
  } catch {
    return undefined;
  }
}
