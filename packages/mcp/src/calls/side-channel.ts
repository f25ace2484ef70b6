/** What a caller hears of its task without asking, on the connection that created it: status changes, progress, log messages. */
import {
  isTerminal,
  type JsonObject,
  type LogLevel,
  type LogMessage,
  type Progress,
  type TaskNews,
  type TaskRecord,
  type TaskRuntime,
} from "@claimcheck/core";
import type { RequestId } from "@modelcontextprotocol/server";
import { type Dialect, type Era, RELATED_TASK_META, TASKS_EXTENSION } from "../dialects/dialect.js";
import { isLoud, LOG_METHOD, logParams } from "../logging.js";
import type { Connection, TaskIntent } from "../wire/connection.js";
import { GrowingProgress } from "./growing-progress.js";

/** How much progress and how many log messages wait for the claim check; what comes beyond is not told. */
const MAX_HELD = 1000;

export class SideChannel {
  readonly #connection: Connection;
  readonly #requestId: RequestId;
  readonly #era: Era;
  readonly #logLevel: LogLevel | undefined;
  readonly #dialect: Dialect;
  readonly #progressToken: string | number | undefined;
  readonly #now: () => number;
  /** News that came before the claim check went out: the client would not know the task yet. */
  #held: (() => unknown)[] | undefined = [];
  #lastStatus: TaskRecord["status"] = "working";
  #lastMessage: string | undefined;
  readonly #progress = new GrowingProgress();
  #ended = false;

  /** @param requestId that of the creating request, from which the intent is */
  constructor(
    connection: Connection,
    requestId: RequestId,
    { dialect, era, progressToken, logLevel }: TaskIntent,
    now: () => number,
  ) {
    this.#connection = connection;
    this.#requestId = requestId;
    this.#era = era;
    this.#logLevel = logLevel;
    this.#dialect = dialect;
    // Revision 2026-07-28 has no progress for tasks: the status message says it.
    this.#progressToken = dialect.name === TASKS_EXTENSION ? undefined : progressToken;
    this.#now = now;
  }

  readonly watcher = (news: TaskNews): boolean => {
    if (news.type === "log") return this.#log(news.taskId, news.message);
    if (news.type === "progress") return this.#inTurn(() => this.#tellProgress(news.taskId, news.progress));
    if (news.type === "changed") this.#inTurn(() => this.#tellStatus(news.task), Number.POSITIVE_INFINITY);
    return false;
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
    for (const tell of held) tell();
  };

  get #isAnswered(): boolean {
    return this.#held === undefined || this.#connection.intentOf(this.#requestId) === undefined;
  }

  /** After what is held back, if anything is. Answers whether it is told, or will be. */
  #inTurn(tell: () => unknown, most: number = MAX_HELD): boolean {
    if (this.#ended || this.#connection.isClosed) return false;
    if (this.#held === undefined) return tell() !== false;
    return this.#held.length < most && this.#held.push(tell) > 0;
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

  #tellProgress(taskId: string, said: Progress): void {
    if (this.#progressToken === undefined) return;
    const progress = this.#progress.next(said);
    if (progress === undefined) return;
    const { total, message } = said;
    const params: JsonObject = { progressToken: this.#progressToken, progress };
    if (total !== undefined) params.total = total;
    if (message !== undefined) params.message = message;
    params._meta = { [RELATED_TASK_META]: { taskId } };
    this.#connection.notify(taskId, "notifications/progress", params);
  }

  /**
   * On a connection of the 2026 era only the request that asked for messages carries them, and only until it is answered:
   * its client knows of no task until then, and of no messages of a task afterwards (ext-tasks, "Task Status Notifications").
   */
  #log(taskId: string, message: LogMessage): boolean {
    const connection = this.#connection;
    const isOfRequest = this.#era === "2026";
    const least = isOfRequest ? this.#logLevel : connection.logLevel;
    if (least === undefined || !isLoud(message.level, least)) return false;
    if (isOfRequest && this.#isAnswered) return false;
    const params = logParams(message);
    if (params === null) return false;
    if (isOfRequest) return connection.notifySender(this.#requestId, LOG_METHOD, params);
    params._meta = { [RELATED_TASK_META]: { taskId } };
    return this.#inTurn(() => connection.notify(taskId, LOG_METHOD, params));
  }
}
