/**
 * Subscriptions to tasks on a connection that carries everything, such as stdio's. The SDK serves `subscriptions/listen`
 * before any server of ours sees it, so the connection itself is decorated: the SDK is sent the request without the task
 * ids, acknowledges the rest, and the ids are added on the way out.
 */
import {
  type JSONRPCMessage,
  type JSONRPCNotification,
  type MessageExtraInfo,
  type RequestId,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import type { Identity } from "../owner.js";
import { SERVER_INFO_META } from "../wire/connection.js";
import { wireError } from "../wire/error-map.js";
import { asObject } from "../wire/request.js";
import { decorateOnStart } from "../wire/transport.js";
import type { Outgoing } from "./outbox.js";
import { type ListenRequest, listenRequestOf } from "./request.js";
import { type Subscription, subscriptionFailed } from "./subscription.js";
import type { Acknowledgeable, Subscriptions } from "./subscriptions.js";

/** @param sender who is at the other end, as far as that is known yet */
export function listenOnWire(transport: Transport, subscriptions: Subscriptions, sender: () => Identity | null): void {
  decorateOnStart(transport, () => {
    const wire = new ListeningWire(transport, subscriptions, sender);
    const { onclose } = transport;
    transport.onmessage = (message, extra) => wire.take(message, extra);
    transport.send = (message, options) => wire.send(message, options);
    transport.onclose = () => {
      wire.close();
      onclose?.();
    };
  });
}

/** What is asked for: first its tasks are looked for, then the SDK is asked to acknowledge it, then it tells. */
interface Listening {
  opened?: Acknowledgeable;
  /** Whether the SDK has things to tell on it too. */
  hasCore: boolean;
}

class ListeningWire {
  readonly #send: Transport["send"];
  readonly #deliver: NonNullable<Transport["onmessage"]>;
  readonly #subscriptions: Subscriptions;
  readonly #sender: () => Identity | null;
  readonly #listening = new Map<RequestId, Listening>();
  /** How the server names itself in results; known once it has sent one. */
  #serverInfo: object | undefined;

  constructor(transport: Transport, subscriptions: Subscriptions, sender: () => Identity | null) {
    this.#send = transport.send.bind(transport);
    this.#deliver = transport.onmessage ?? (() => {});
    this.#subscriptions = subscriptions;
    this.#sender = sender;
  }

  close(): void {
    for (const id of [...this.#listening.keys()]) this.#forget(id);
  }

  // --- in --------------------------------------------------------------------------------------------------------

  take(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    const asked = listenRequestOf(message);
    if (asked !== undefined) void this.#listen(asked);
    else if (!this.#cancels(message)) this.#deliver(message, extra);
  }

  async #listen(asked: ListenRequest): Promise<void> {
    const { id } = asked;
    this.#forget(id);
    const listening: Listening = { hasCore: false };
    this.#listening.set(id, listening);
    const opened = await this.#subscriptions.open(asked, this.#sender());
    // It has been cancelled meanwhile, or asked for anew.
    const isWanted = this.#listening.get(id) === listening;
    if ("fault" in opened) {
      if (!isWanted) return;
      this.#listening.delete(id);
      this.#write({ jsonrpc: "2.0", id, error: wireError(opened.fault) });
    } else if (isWanted) {
      listening.opened = opened;
      this.#deliver(asked.rest as unknown as JSONRPCMessage);
    } else opened.subscription.end();
  }

  /** @returns whether the SDK need not know: it has not been asked yet */
  #cancels(message: JSONRPCMessage): boolean {
    if (!("method" in message) || message.method !== "notifications/cancelled") return false;
    const id = asObject(message.params)?.requestId as RequestId;
    const listening = this.#listening.get(id);
    if (listening === undefined) return false;
    this.#forget(id);
    return listening.opened === undefined;
  }

  #forget(id: RequestId): void {
    const listening = this.#listening.get(id);
    this.#listening.delete(id);
    listening?.opened?.subscription.end();
  }

  // --- out -------------------------------------------------------------------------------------------------------

  async send(message: JSONRPCMessage, options: TransportSendOptions | undefined): Promise<void> {
    if ("method" in message) {
      const id = acknowledgedId(message);
      const listening = id === undefined ? undefined : this.#listening.get(id);
      if (listening?.opened === undefined) return this.#send(message, options);
      return this.#acknowledge(message, listening, listening.opened, id as RequestId);
    }
    this.#serverInfo ??= asObject(
      asObject("result" in message ? message.result?._meta : undefined)?.[SERVER_INFO_META],
    );
    // The SDK has ended the subscription, or would not begin it.
    if (this.#listening.size > 0 && message.id !== undefined) this.#forget(message.id);
    return this.#send(message, options);
  }

  async #acknowledge(
    message: JSONRPCNotification,
    listening: Listening,
    { subscription, taskIds }: Acknowledgeable,
    id: RequestId,
  ): Promise<void> {
    const core = asObject(message.params?.notifications) ?? {};
    listening.hasCore = Object.keys(core).length > 0;
    // Written in the same turn, before the first notification.
    const sent = this.#send({ ...message, params: { ...message.params, notifications: { ...core, taskIds } } });
    this.#start(id, listening, subscription);
    return sent;
  }

  #start(id: RequestId, listening: Listening, subscription: Subscription): void {
    subscription.start({
      send: (outgoing: Outgoing) => this.#send(outgoing.message).catch(() => subscription.end()),
      finished: () => {
        if (!listening.hasCore) this.#finish(id, { result: { resultType: "complete", _meta: this.#resultMeta(id) } });
      },
      failed: () => this.#finish(id, { error: subscriptionFailed() }),
    });
  }

  /** The SDK hears of it as of the client's own wish, so that it keeps no subscription that we have ended. */
  #finish(id: RequestId, answer: { result: object } | { error: object }): void {
    this.#forget(id);
    this.#deliver({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    this.#write({ jsonrpc: "2.0", id, ...answer } as JSONRPCMessage);
  }

  #resultMeta(id: RequestId): object {
    const named = this.#serverInfo === undefined ? {} : { [SERVER_INFO_META]: this.#serverInfo };
    return { [SUBSCRIPTION_ID_META_KEY]: id, ...named };
  }

  #write(message: JSONRPCMessage): void {
    this.#send(message).catch(() => {});
  }
}

/** The subscription that `message` acknowledges. */
function acknowledgedId({ method, params }: { method: string; params?: unknown }): RequestId | undefined {
  if (method !== "notifications/subscriptions/acknowledged") return undefined;
  return asObject(asObject(params)?._meta)?.[SUBSCRIPTION_ID_META_KEY] as RequestId | undefined;
}
