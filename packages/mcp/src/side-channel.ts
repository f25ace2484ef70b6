/** What a caller hears of its task without asking: status changes and progress, on the connection that created it. */
import {
  isTerminal,
  type JsonObject,
  type Progress,
  type TaskNews,
  type TaskRecord,
  type TaskRuntime,
} from "@claimcheck/core";
import type { Connection, TaskIntent } from "./connection.js";
import { type Dialect, RELATED_TASK_META, TASKS_EXTENSION } from "./dialects/dialect.js";

export class SideChannel {
  readonly #connection: Connection;
  readonly #dialect: Dialect;
  readonly #progressToken: string | number | undefined;
  readonly #now: () => number;
  /** News that came before the claim check went out: the client would not know the task yet. */
  #held: TaskNews[] | undefined = [];
  #lastStatus: TaskRecord["status"] = "working";
  #lastMessage: string | undefined;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #ended = false;

  constructor(connection: Connection, { dialect, progressToken }: TaskIntent, now: () => number) {
    this.#connection = connection;
    this.#dialect = dialect;
    // Revision 2026-07-28 has no progress for tasks: the status message says it.
    this.#progressToken = dialect.name === TASKS_EXTENSION ? undefined : progressToken;
    this.#now = now;
  }

  readonly watcher = (news: TaskNews): void => {
    if (this.#held !== undefined) this.#held.push(news);
    else this.#tell(news);
  };

  /** Follows a task that was there before. */
  follow(runtime: TaskRuntime, task: TaskRecord): void {
    this.#lastStatus = task.status;
    this.#lastMessage = task.statusMessage;
    if (!isTerminal(task)) runtime.subscribe(task.taskId, this.watcher);
  }

  /** The claim check is out. */
  readonly release = (): void => {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const news of held) this.#tell(news);
  };

  #tell(news: TaskNews): void {
    if (this.#ended || this.#connection.isClosed) return;
    if (news.type === "changed") this.#tellStatus(news.task);
    else if (news.type === "progress") this.#tellProgress(news.taskId, news.progress);
  }

  #tellStatus(task: TaskRecord): void {
    if (task.status === this.#lastStatus && task.statusMessage === this.#lastMessage) return;
    this.#lastStatus = task.status;
    this.#lastMessage = task.statusMessage;
    this.#ended = isTerminal(task);
    // The extension's push goes to whoever listens for it, not to the connection at large.
    if (this.#dialect.name === TASKS_EXTENSION) return;
    const notification = this.#dialect.statusNotification(task, this.#now());
    if (notification !== null) this.#connection.notify(task.taskId, notification.method, notification.params);
  }

  /** The protocol wants progress to grow; a tool that repeats itself is heard once. */
  #tellProgress(taskId: string, { current, total, message }: Progress): void {
    if (this.#progressToken === undefined || !(current > this.#lastProgress)) return;
    this.#lastProgress = current;
    const params: JsonObject = { progressToken: this.#progressToken, progress: current };
    if (total !== undefined) params.total = total;
    if (message !== undefined) params.message = message;
    params._meta = { [RELATED_TASK_META]: { taskId } };
    this.#connection.notify(taskId, "notifications/progress", params);
  }
}
