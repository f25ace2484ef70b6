/** Where subscriptions to tasks begin: who may, to how many, and which tasks are theirs. */
import { describeError, type Logger, type TaskRuntime } from "@claimcheck/core";
import type { AuthInfo, RequestId } from "@modelcontextprotocol/server";
import { type Fault, identityRequired } from "../dialects/dialect.js";
import { type Identity, type IdentityRules, identify } from "../owner.js";
import { faultOf, INTERNAL_FAULT, isForCaller } from "../wire/error-map.js";
import { askedTaskIds, type ListenRequest } from "./request.js";
import { Subscription } from "./subscription.js";

/** A subscription that has to be acknowledged before it starts, and the ids of its tasks. */
export interface Acknowledgeable {
  subscription: Subscription;
  taskIds: string[];
}

export interface SubscriptionsOptions {
  runtime: TaskRuntime;
  identity: IdentityRules;
  logger: Logger;
  /** Who is at the other end of the one connection of an MCP server; `null` when nobody is, or it serves no tasks. */
  atOtherEndOf: (server: unknown) => Identity | null;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Who sends an HTTP request, which in the era of these subscriptions stands alone. */
  senderOf(authInfo: AuthInfo | undefined): Identity | null {
    return identify({ authInfo }, this.#options.identity);
  }

  /**
   * Who sends what comes over the one connection of `server`. Before there is one, its sender is somebody who has no
   * session yet, and no tasks of one.
   */
  peerOf(server: unknown): Identity | null {
    const { identity, atOtherEndOf } = this.#options;
    return server === undefined ? identify({ sessionId: "" }, identity) : atOtherEndOf(server);
  }

  /** Begins what is asked, or says why not. Never rejects. */
  async open(asked: ListenRequest, sender: Identity | null): Promise<Acknowledgeable | { fault: Fault }> {
    // What is refused here is refused before anything is looked up: the answer does not depend on what exists.
    const taskIds = askedTaskIds(asked);
    if (!Array.isArray(taskIds)) return { fault: taskIds };
    if (sender === null) return { fault: identityRequired() };
    try {
      return await this.#open(asked.id, sender.owner, taskIds);
    } catch (error) {
      if (isForCaller(error)) return { fault: faultOf(error) };
      this.#options.logger.error({ error: describeError(error) }, "a subscription could not be opened");
      return { fault: INTERNAL_FAULT };
    }
  }

  async #open(id: RequestId, owner: string, asked: readonly string[]): Promise<Acknowledgeable> {
    const { runtime, logger } = this.#options;
    runtime.polls.check(owner);
    const onEnd = runtime.subscriptions.open(owner, asked.length);
    const subscription = new Subscription({ runtime, logger, id, owner, onEnd });
    try {
      const taskIds = await subscription.follow(asked);
      // It asks as often as it names a task, whether that is there or not.
      for (const _ of asked) runtime.polls.spend(owner);
      return { subscription, taskIds };
    } catch (error) {
      subscription.end();
      throw error;
    }
  }
}
