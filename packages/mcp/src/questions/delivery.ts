/**
 * Questions on their way to 2025-era clients, where the server asks by requests of its own. The ids of those requests name
 * the question, so its answer is taken on whatever connection, and in whichever process, it arrives. A client that calls
 * `tasks/result` when it sees `input_required` gets the question on that stream; one that only polls gets it with its
 * second poll (2025-11-25, "Input Required Status": the first has told it to call `tasks/result`).
 */
import { randomBytes } from "node:crypto";
import {
  isRecordNews,
  type JsonObject,
  outstandingQuestions,
  type Question,
  type TaskRecord,
  type TaskRuntime,
} from "@claimcheck/core";
import type { RequestId } from "@modelcontextprotocol/server";
import { RELATED_TASK_META } from "../dialects/dialect.js";
import type { Connection } from "../wire/connection.js";
import type { Sender } from "../wire/request.js";
import { lackingCapability } from "./client-capabilities.js";

/** How long a poller is not asked again what was sent to it; the stream it was sent on may have died with it. */
const ASK_AGAIN_MS = 5 * 60_000;

const PREFIX = "claimcheck/";

/** The id of a request that asks; never used twice, since a client may get a question again. */
function requestIdOf(taskId: string, key: string): string {
  return `${PREFIX}${taskId}/${key}/${randomBytes(6).toString("base64url")}`;
}

/** Which question a response answers; `undefined` when it is none of ours. */
export function questionOfId(id: unknown): { taskId: string; key: string } | undefined {
  if (typeof id !== "string" || !id.startsWith(PREFIX)) return undefined;
  const [taskId, key, nonce, ...more] = id.slice(PREFIX.length).split("/");
  return taskId && key && nonce && more.length === 0 ? { taskId, key } : undefined;
}

/** Whoever sent a request on whose stream may be asked. */
export interface Respondent {
  connection: Connection;
  sender: Sender;
  owner: string;
  /** What the client said about being asked; `undefined` when it said nothing to this process. */
  askable: JsonObject | undefined;
}

/** One client's view of one question. */
interface Delivery {
  key: string;
  /** How many polls have shown the client that something is asked. */
  shown: number;
  sentAt?: number;
  /** What is cancelled when the question is settled elsewhere. */
  request?: { id: string; connection: Connection; relatedRequestId: RequestId };
}

interface Followed {
  deliveries: Map<string, Delivery>;
  unsubscribe: () => void;
}

export class Deliveries {
  readonly #runtime: TaskRuntime;
  readonly #followed = new Map<string, Followed>();

  constructor(runtime: TaskRuntime) {
    this.#runtime = runtime;
  }

  get size(): number {
    return this.#followed.size;
  }

  /**
   * A `tasks/result` that is open carries what is asked. Over HTTP each such request does: whether the one before it is
   * still read by anybody cannot be told.
   */
  carrier(respondent: Respondent): (task: TaskRecord) => void {
    // Made when there is something to carry: most of these requests never see a question.
    let carried: Set<string> | undefined;
    return (task) => {
      carried ??= new Set();
      for (const question of askedOf(respondent, task)) {
        if (carried.has(question.key)) continue;
        carried.add(question.key);
        const delivery = this.#deliveryOf(task, respondent, question.key);
        if (!wasHeard(delivery, respondent)) this.#send(delivery, task, question, respondent);
      }
    };
  }

  /** A poll is about to be answered: asks on its stream what the client does not come to fetch. */
  polled(task: TaskRecord, respondent: Respondent): void {
    for (const question of askedOf(respondent, task)) {
      const delivery = this.#deliveryOf(task, respondent, question.key);
      delivery.shown += 1;
      if (delivery.shown < 2 || wasHeard(delivery, respondent)) continue;
      if (delivery.sentAt !== undefined && this.#runtime.now() - delivery.sentAt < ASK_AGAIN_MS) continue;
      this.#send(delivery, task, question, respondent);
    }
  }

  /** The client has answered: there is nothing to cancel. */
  answered(taskId: string, requestId: string): void {
    for (const delivery of this.#followed.get(taskId)?.deliveries.values() ?? []) {
      if (delivery.request?.id === requestId) delete delivery.request;
    }
  }

  #send(delivery: Delivery, task: TaskRecord, question: Question, { connection, sender }: Respondent): void {
    const { id } = sender;
    const request = { id: requestIdOf(task.taskId, question.key), connection, relatedRequestId: id };
    delivery.sentAt = this.#runtime.now();
    delivery.request = request;
    connection.ask({ id: request.id, method: question.method, params: paramsOf(task.taskId, question) }, id);
  }

  #deliveryOf(task: TaskRecord, respondent: Respondent, key: string): Delivery {
    const { deliveries } = this.#followed.get(task.taskId) ?? this.#follow(task.taskId);
    const name = JSON.stringify([clientOf(respondent), key]);
    let delivery = deliveries.get(name);
    if (delivery === undefined) {
      delivery = { key, shown: 0 };
      deliveries.set(name, delivery);
    }
    return delivery;
  }

  /** Until nothing of the task is asked any more. */
  #follow(taskId: string): Followed {
    const followed: Followed = { deliveries: new Map(), unsubscribe: () => {} };
    this.#followed.set(taskId, followed);
    followed.unsubscribe = this.#runtime.subscribe(taskId, (news) => {
      if (!isRecordNews(news)) return;
      const open = news.type === "changed" ? outstandingQuestions(news.task).map(({ key }) => key) : [];
      settle(followed, open);
      if (open.length > 0) return;
      this.#followed.delete(taskId);
      followed.unsubscribe();
    });
    return followed;
  }
}

function settle({ deliveries }: Followed, open: readonly string[]): void {
  for (const [name, { key, request }] of deliveries) {
    if (open.includes(key)) continue;
    deliveries.delete(name);
    request?.connection.cancelAsked(request.id, "The question has been settled.", request.relatedRequestId);
  }
}

/** What the task asks and the client can be asked: the task may be one of another client, which declared more. */
function askedOf({ askable }: Respondent, task: TaskRecord): Question[] {
  return outstandingQuestions(task).filter((question) => lackingCapability(question, askable) === null);
}

/** Whoever polls in requests that stand alone is known by the owner only; elsewhere each connection is a client. */
function clientOf({ connection, sender, owner }: Respondent): string {
  const { sessionId, httpRequest } = sender;
  return sessionId === undefined && httpRequest !== undefined ? `owner ${owner}` : `connection ${connection.id}`;
}

/** On a pipe nothing is lost: what was sent once need not be sent again. */
function wasHeard({ sentAt }: Delivery, { sender }: Respondent): boolean {
  return sentAt !== undefined && sender.httpRequest === undefined;
}

function paramsOf(taskId: string, { key, params }: Question): JsonObject {
  const _meta = { ...(params._meta as JsonObject | undefined), [RELATED_TASK_META]: { taskId } };
  // This revision names a page by an id, which later ones have no use for.
  return params.mode === "url" ? { elicitationId: key, ...params, _meta } : { ...params, _meta };
}
