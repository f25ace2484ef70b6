/** Opaque cursors over the total order of a listing: newest first, by `createdAt` and then by `taskId`. */
import { TaskError } from "./errors.js";

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

function parse(cursor: string): ListPosition | undefined {
  try {
    const [createdAt, taskId, ...rest] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof createdAt !== "number" || typeof taskId !== "string" || rest.length > 0) return undefined;
    return { createdAt, taskId };
  } catch {
    return undefined;
  }
}
