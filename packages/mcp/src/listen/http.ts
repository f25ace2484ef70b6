/**
 * Subscriptions to tasks over HTTP, each an event stream of its own. The SDK checks the request and serves the core's
 * filters; its stream is read here, and the tasks' part is added.
 */
import type { Clock, JsonObject, Timer } from "@claimcheck/core";
import type { AuthInfo, JSONRPCNotification, RequestId } from "@modelcontextprotocol/server";
import type { Fault } from "../dialects/dialect.js";
import { httpStatusOf, wireError } from "../wire/error-map.js";
import { asObject } from "../wire/request.js";
import { KEEP_ALIVE_MS, messagesOf } from "./events.js";
import { ListenStream } from "./listen-stream.js";
import type { ListenRequest } from "./request.js";
import type { Subscription } from "./subscription.js";
import type { Subscriptions } from "./subscriptions.js";

export interface HttpListeningOptions {
  subscriptions: Subscriptions;
  clock: Clock;
  onerror: (error: Error) => void;
}

export class HttpListening {
  readonly #options: HttpListeningOptions;
  readonly #streams = new Set<ListenStream>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: HttpListeningOptions) {
    this.#options = options;
  }

  /** Streams that are open. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * @param core has the SDK serve `asked.rest`
   * @param signal fires when the client has gone
   */
  async serve(
    asked: ListenRequest,
    authInfo: AuthInfo | undefined,
    signal: AbortSignal,
    core: () => Promise<Response>,
  ): Promise<Response> {
    const { subscriptions } = this.#options;
    const response = await core();
    const { body, headers } = response;
    if (body === null || headers.get("content-type") !== "text/event-stream") return response;
    const messages = messagesOf(body);
    const acknowledged = await next(messages);
    const opened = await subscriptions.open(asked, subscriptions.senderOf(authInfo));
    if ("fault" in opened) {
      await messages.return();
      return refusal(asked.id, opened.fault);
    }
    const { subscription, taskIds } = opened;
    const params = asObject(acknowledged?.params);
    const filter = asObject(params?.notifications) ?? {};
    const hasCore = Object.keys(filter).length > 0;
    // With nothing of its own to tell the SDK ends at once, and says now what is to be said in the end.
    const closing = hasCore ? undefined : await next(messages);
    const stream = this.#add(asked.id, subscription, closing, signal);
    stream.write({ ...acknowledged, params: { ...params, notifications: { ...filter, taskIds } } });
    if (hasCore) void passCore(messages, stream, subscription);
    subscription.start(stream);
    return new Response(stream.body, { status: 200, headers });
  }

  /** Ends every stream as the protocol wants it; those that the SDK has a part in end with the SDK's. */
  close(): void {
    this.#closed = true;
    for (const stream of [...this.#streams]) stream.finished();
  }

  #add(id: RequestId, subscription: Subscription, closing: JsonObject | undefined, signal: AbortSignal): ListenStream {
    const stream = new ListenStream({
      id,
      subscription,
      closing,
      onEnd: (error) => this.#remove(stream, signal, error),
    });
    this.#streams.add(stream);
    this.#timer ??= this.#keepAliveLater();
    signal.addEventListener("abort", stream.abandon);
    if (signal.aborted) stream.abandon();
    else if (this.#closed) stream.finished();
    return stream;
  }

  #remove(stream: ListenStream, signal: AbortSignal, error: Error | undefined): void {
    this.#streams.delete(stream);
    signal.removeEventListener("abort", stream.abandon);
    if (error !== undefined) this.#options.onerror(error);
    if (this.#streams.size > 0 || this.#timer === undefined) return;
    this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  /** One timer for all streams. */
  #keepAliveLater(): Timer {
    return this.#options.clock.setTimer(() => {
      this.#timer = this.#keepAliveLater();
      for (const stream of [...this.#streams]) stream.keepAlive();
    }, KEEP_ALIVE_MS);
  }
}

async function next(messages: AsyncGenerator<unknown, void>): Promise<JsonObject | undefined> {
  return asObject((await messages.next()).value);
}

/** Passes on what the SDK has to tell. */
async function passCore(
  messages: AsyncIterable<unknown>,
  stream: ListenStream,
  subscription: Subscription,
): Promise<void> {
  try {
    for await (const message of messages) {
      const { method } = message as JsonObject;
      if (method === undefined) stream.end(message as JsonObject);
      else subscription.hint(message as JSONRPCNotification);
    }
  } catch {
    // It was cut off.
  }
  stream.abandon();
}

function refusal(id: RequestId, fault: Fault): Response {
  const error = wireError(fault);
  return Response.json({ jsonrpc: "2.0", id, error }, { status: httpStatusOf(error) });
}
