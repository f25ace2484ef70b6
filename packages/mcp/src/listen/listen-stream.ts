/** The event stream of one subscription. It is written no further ahead of its reader than a little. */
import type { JsonObject } from "@claimcheck/core";
import type { RequestId } from "@modelcontextprotocol/server";
import { eventOf, KEEP_ALIVE } from "./events.js";
import type { Outgoing } from "./outbox.js";
import { type Reader, type Subscription, subscriptionFailed } from "./subscription.js";

export interface ListenStreamOptions {
  /** The id of the request that asked for it. */
  id: RequestId;
  subscription: Subscription;
  /** The response that ends it; `undefined` when it has more to tell than of tasks, and ends with that. */
  closing: JsonObject | undefined;
  /** Called once, with an error when it was the reader's fault. */
  onEnd: (error?: Error) => void;
}

/** How much is written ahead of the reader, bytes. */
const AHEAD_BYTES = 64 * 1024;

/** A reader that has taken nothing for so many keep-alives though something waits is taken for gone. */
const KEEP_ALIVES_IN_VAIN = 4;

export class ListenStream implements Reader {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: ListenStreamOptions;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Called when the reader has taken enough for more. */
  #hasRoom: (() => void) | undefined;
  #keepAlivesInVain = 0;
  #ended = false;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pulled(),
        cancel: () => this.#over(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
    );
  }

  send({ text }: Outgoing): Promise<void> | undefined {
    this.#enqueue(eventOf(text));
    if (this.#ended || (this.#controller.desiredSize ?? 0) > 0) return undefined;
    return new Promise((resolve) => {
      this.#hasRoom = resolve;
    });
  }

  write(message: JsonObject): void {
    this.#enqueue(eventOf(JSON.stringify(message)));
  }

  finished(): void {
    if (this.#options.closing !== undefined) this.end(this.#options.closing);
  }

  failed(): void {
    this.end({ jsonrpc: "2.0", id: this.#options.id, error: { ...subscriptionFailed() } });
  }

  /** Ends it with a response, as the protocol wants it. */
  end(response: JsonObject): void {
    if (this.#ended) return;
    this.write(response);
    this.#over();
    this.#controller.close();
  }

  /** Ends it without a word: the client has gone. */
  readonly abandon = (): void => {
    if (this.#ended) return;
    this.#over();
    this.#controller.close();
  };

  keepAlive(): void {
    if (this.#hasRoom === undefined) this.#enqueue(KEEP_ALIVE);
    else if (++this.#keepAlivesInVain >= KEEP_ALIVES_IN_VAIN) this.#cutOff();
  }

  #cutOff(): void {
    const error = new Error("Ended the subscription of a client that does not read.");
    this.#over(error);
    this.#controller.error(error);
  }

  #enqueue(event: Uint8Array): void {
    if (!this.#ended) this.#controller.enqueue(event);
  }

  #pulled(): void {
    this.#keepAlivesInVain = 0;
    const hasRoom = this.#hasRoom;
    this.#hasRoom = undefined;
    hasRoom?.();
  }

  #over(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.subscription.end();
    this.#options.onEnd(error);
  }
}
