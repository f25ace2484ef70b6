/**
 * What waits to be read by one subscriber. A reader that keeps up gets every change, in order. Of one that does not, a
 * bounded number of changes is kept; of a task that changes beyond that, no more than that it did: once the reader has
 * taken what was before, it gets the task as it then is, so that what a reader costs does not grow with how slow it is.
 */
import { Fifo } from "@claimcheck/core";
import type { JSONRPCNotification } from "@modelcontextprotocol/server";

/** How many UTF-16 units of changes are kept for a reader that has not taken them. */
const MAX_WAITING = 1024 * 1024;

/** A notification, and its JSON once somebody has asked for it. */
export class Outgoing {
  readonly message: JSONRPCNotification;
  #text: string | undefined;

  constructor(message: JSONRPCNotification) {
    this.message = message;
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.message);
    return this.#text;
  }
}

export interface OutboxOptions {
  /** Sends; answers `undefined` when the next may follow at once, else a promise of when it may, which never rejects. */
  send: (outgoing: Outgoing) => Promise<void> | undefined;
  /** The task as it is, for a reader that has missed changes of it; `null` when there is nothing to say. */
  latest: (taskId: string) => Promise<Outgoing | null>;
  /** Everything has been sent. */
  onEmpty: () => void;
  /** `latest` has failed: what the reader gets is no longer true. */
  onFailed: (error: unknown) => void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #waiting = new Fifo<Outgoing>();
  /** The texts of hints that wait: one that is told already need not be told twice. */
  readonly #hints = new Set<string>();
  #waitingLength = 0;
  /** Tasks of which only the latest is told, in the order in which they became late. */
  readonly #late = new Set<string>();
  readonly #lateInOrder = new Fifo<string>();
  /** Nothing goes out before the subscription is acknowledged, while the reader is busy, or after the end. */
  #state: "held" | "open" | "busy" | "closed" = "held";

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#late.size === 0 && this.#state !== "busy";
  }

  open(): void {
    if (this.#state !== "held") return;
    this.#state = "open";
    this.#pump();
  }

  close(): void {
    this.#state = "closed";
    this.#hints.clear();
    this.#late.clear();
    this.#waiting.clear();
    this.#lateInOrder.clear();
  }

  /** Whether the task's latest will be read and told: nothing that is known of it before then is news. */
  isLate(taskId: string): boolean {
    return this.#late.has(taskId);
  }

  /** Tells of a change of a task that is not late. */
  change(taskId: string, outgoing: Outgoing): void {
    if (this.#state === "open" || this.#waitingLength + outgoing.text.length <= MAX_WAITING) this.#push(outgoing);
    else if (this.#state !== "closed") {
      this.#late.add(taskId);
      this.#lateInOrder.push(taskId);
    }
  }

  /** Tells something that says no more than "look", which is told once however often it waits to be. */
  hint(outgoing: Outgoing): void {
    if (this.#hints.has(outgoing.text)) return;
    if (this.#state !== "open") this.#hints.add(outgoing.text);
    this.#push(outgoing);
  }

  #push(outgoing: Outgoing): void {
    if (this.#state === "open") {
      // Then nothing waits.
      this.#send(outgoing);
      this.#pump();
    } else if (this.#state !== "closed") {
      this.#waiting.push(outgoing);
      this.#waitingLength += outgoing.text.length;
    }
  }

  #pump(): void {
    while (this.#state === "open") {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#waitingLength -= next.text.length;
      this.#hints.delete(next.text);
      this.#send(next);
    }
    if (this.#state !== "open") return;
    const late = this.#lateInOrder.shift();
    if (late === undefined) this.#options.onEmpty();
    else void this.#sendLatest(late);
  }

  #send(outgoing: Outgoing): void {
    const busy = this.#options.send(outgoing);
    if (busy === undefined) return;
    this.#state = "busy";
    void busy.then(() => this.#resume());
  }

  /** One at a time: however many tasks are late, one record is held. */
  async #sendLatest(taskId: string): Promise<void> {
    this.#state = "busy";
    let outgoing: Outgoing | null;
    try {
      outgoing = await this.#options.latest(taskId);
    } catch (error) {
      return this.#options.onFailed(error);
    }
    this.#late.delete(taskId);
    if (this.#isClosed()) return;
    this.#state = "open";
    if (outgoing !== null) this.#push(outgoing);
    else this.#pump();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  #resume(): void {
    if (this.#state !== "busy") return;
    this.#state = "open";
    this.#pump();
  }
}
