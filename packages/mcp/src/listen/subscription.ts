/**
 * One subscription to tasks: which of the ids that were asked for it may tell of, how each of those tasks is, and every
 * change of it until it has ended. What carries it (an event stream, a pipe) is the {@link Reader}'s affair.
 */
import {
  describeError,
  isTerminal,
  type Logger,
  outstandingQuestions,
  type RecordNews,
  type TaskRecord,
  type TaskRuntime,
} from "@claimcheck/core";
import { type JSONRPCNotification, type RequestId, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import type { RaisedError } from "../dialects/dialect.js";
import { extension20260728 } from "../dialects/extension-2026-07-28.js";
import { wireError } from "../wire/error-map.js";
import { Outbox, Outgoing } from "./outbox.js";

export interface Reader {
  /** Sends; answers `undefined` when the next may follow at once, else a promise of when it may, which never rejects. */
  send(outgoing: Outgoing): Promise<void> | undefined;
  /** Nothing more will come: every task has ended and been told of, or the runtime has closed. */
  finished(): void;
  /** What was missed could not be read: the reader has to subscribe anew to know how the tasks are. */
  failed(): void;
}

/** What a reader hears whose subscription has failed. */
export function subscriptionFailed(): RaisedError {
  return wireError({ code: "internal", message: "The tasks could not be read: subscribe again." });
}

export interface SubscriptionOptions {
  runtime: TaskRuntime;
  logger: Logger;
  /** The id of the request that asked for it. */
  id: RequestId;
  owner: string;
  /** Called once it has ended, however that came. */
  onEnd: () => void;
}

interface Followed {
  /** Of the newest record that was heard of. */
  version: number;
  /** What was last told, as far as a reader can tell one state from the next. */
  told: string;
  stop: () => void;
}

/** How many records are read at once. */
const READS_AT_ONCE = 50;

export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #outbox: Outbox;
  /** The tasks that have not ended. */
  readonly #followed = new Map<string, Followed>();
  #reader: Reader | undefined;
  #ended = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.#outbox = new Outbox({
      send: (outgoing) => this.#reader?.send(outgoing),
      latest: (taskId) => this.#latest(taskId),
      onEmpty: () => this.#finishIfOver(),
      onFailed: (error) => this.#fail(error),
    });
  }

  /**
   * Begins to follow the owner's among the tasks; answers their ids, in order. Ids that are unknown, expired or somebody
   * else's are treated alike. Nothing is told before {@link start}.
   */
  async follow(taskIds: readonly string[]): Promise<string[]> {
    const mine: string[] = [];
    for (let i = 0; i < taskIds.length && !this.#ended; i += READS_AT_ONCE) {
      const some = taskIds.slice(i, i + READS_AT_ONCE);
      const tasks = await Promise.all(some.map((taskId) => this.#follow(taskId)));
      for (const task of tasks) {
        if (task === null) continue;
        mine.push(task.taskId);
        this.#consider(task);
      }
    }
    return mine;
  }

  /** The subscription is acknowledged: tells the reader how each task is, and from then on. */
  start(reader: Reader): void {
    this.#reader = reader;
    this.#outbox.open();
  }

  /** Passes on a notification of the core's, which says no more than that something has to be looked at. */
  hint(message: JSONRPCNotification): void {
    this.#outbox.hint(new Outgoing(message));
  }

  /** Tells nothing more. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outbox.close();
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
    this.#options.onEnd();
  }

  async #follow(taskId: string): Promise<TaskRecord | null> {
    const { runtime, owner } = this.#options;
    const followed: Followed = { version: 0, told: "", stop: () => {} };
    this.#followed.set(taskId, followed);
    const found = await runtime.follow(owner, taskId, (news) => this.#hear(news));
    if (found === null) this.#followed.delete(taskId);
    else if (this.#ended) found.stop();
    else followed.stop = found.stop;
    return found?.task ?? null;
  }

  #hear(news: RecordNews): void {
    if (news.type === "changed") this.#consider(news.task);
    else this.#over(news.taskId);
  }

  #consider(task: TaskRecord): void {
    const { taskId, version } = task;
    const followed = this.#followed.get(taskId);
    if (followed === undefined || version <= followed.version) return;
    followed.version = version;
    if (!this.#outbox.isLate(taskId)) {
      const outgoing = this.#changeOf(task, followed);
      if (outgoing !== null) this.#outbox.change(taskId, outgoing);
    }
    if (isTerminal(task)) this.#over(taskId);
  }

  /** What has to be told of the task; `null` when nothing that shows has changed. */
  #changeOf(task: TaskRecord, followed: Followed): Outgoing | null {
    const shown = shownOf(task);
    if (shown === followed.told) return null;
    followed.told = shown;
    return this.#notification(task);
  }

  #notification(task: TaskRecord): Outgoing {
    const { runtime, id } = this.#options;
    const { method, params } = extension20260728.statusNotification(task, runtime.now()) ?? never();
    return new Outgoing({ jsonrpc: "2.0", method, params: { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: id } } });
  }

  /** Of a task that ended while it was late, that too. */
  async #latest(taskId: string): Promise<Outgoing | null> {
    const { runtime, owner } = this.#options;
    for (;;) {
      const task = await runtime.get(owner, taskId);
      if (task === null) return null;
      const followed = this.#followed.get(taskId);
      if (followed === undefined) return this.#notification(task);
      // Something newer has been heard of since.
      if (followed.version > task.version) continue;
      followed.version = task.version;
      return this.#changeOf(task, followed);
    }
  }

  #over(taskId: string): void {
    this.#followed.delete(taskId);
    this.#finishIfOver();
  }

  #finishIfOver(): void {
    if (!this.#ended && this.#reader !== undefined && this.#followed.size === 0 && this.#outbox.isEmpty)
      this.#reader.finished();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#options.logger.warn({ error: describeError(error) }, "a subscription ended: its tasks could not be read");
    this.#reader?.failed();
  }
}

/** Two records of one task that agree in this show a reader the same, but for instants. */
function shownOf(task: TaskRecord): string {
  const asked = outstandingQuestions(task).map(({ key }) => key);
  return JSON.stringify([task.status, task.statusMessage, asked]);
}

function never(): never {
  throw new Error("The dialect has no notification.");
}
