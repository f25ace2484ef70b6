/** Which answers belong to which request: by the message id of their parent. */
import type { KernelMessage } from "./wire.js";

/** Why a request will never be answered. */
export type LostCause = "kernel_died" | "kernel_restarted" | "connection_lost";

/** Why a request was never sent. */
export type WithdrawCause = LostCause | "cancelled";

/** One request that waits for messages. */
export interface Route {
  readonly msgId: string;
  readonly isDone: boolean;
  receive(message: KernelMessage): void;
  /** Ends it without an answer; does nothing once it is done. */
  lose(cause: LostCause, reason: string): void;
  /** Ends it before it was sent. */
  withdraw(cause: WithdrawCause, reason: string): void;
  /** The connection was lost: something may be missing from now on. */
  noteGap(tooLarge: boolean): void;
  /** Since when one of the messages that end it is there and another is not; undefined otherwise. */
  readonly halfDoneSince: number | undefined;
  /** The kernel is proved to be done with it: ends it with whatever has come. */
  settleUnanswered(reason: string): void;
}

/** More finished requests than that are not worth their memory; what prints that late belongs to nobody. */
const MAX_FINISHED = 1_000;

/** The requests of one connection: those under way, and those that ended a short time ago. */
export class Routes {
  readonly #pending = new Map<string, Route>();
  /** In the order in which they ended, with the instant. */
  readonly #finished = new Map<string, { route: Route; endedAt: number }>();

  add(route: Route): void {
    this.#pending.set(route.msgId, route);
  }

  /** The requests under way, oldest first. */
  get pending(): readonly Route[] {
    return [...this.#pending.values()];
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Hands a message to the request that it answers; false if there is none. */
  deliver(message: KernelMessage, now: number): boolean {
    const parent = message.parent_header.msg_id;
    if (parent === undefined) return false;
    const route = this.#pending.get(parent) ?? this.#finished.get(parent)?.route;
    if (route === undefined) return false;
    route.receive(message);
    this.#fileIfDone(route, now);
    return true;
  }

  /** Ends the given requests without an answer. */
  lose(routes: Iterable<Route>, cause: LostCause, reason: string, now: number): void {
    for (const route of routes) {
      route.lose(cause, reason);
      this.#fileIfDone(route, now);
    }
  }

  /** Ends the given requests, of which the kernel has said all that it will ever say. */
  settleUnanswered(routes: Iterable<Route>, reason: string, now: number): void {
    for (const route of routes) {
      if (!route.isDone) route.settleUnanswered(reason);
      this.#fileIfDone(route, now);
    }
  }

  /** Forgets the requests that ended before `before`, and the oldest beyond {@link MAX_FINISHED}. */
  forget(before: number): void {
    for (const [msgId, { endedAt }] of this.#finished) {
      if (endedAt > before && this.#finished.size <= MAX_FINISHED) return;
      this.#finished.delete(msgId);
    }
  }

  #fileIfDone(route: Route, now: number): void {
    if (!route.isDone || !this.#pending.delete(route.msgId)) return;
    this.#finished.set(route.msgId, { route, endedAt: now });
  }
}
