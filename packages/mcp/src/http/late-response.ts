/**
 * A response that takes its time. To a call of 2026-07-28 that tells nothing meanwhile the SDK answers plain JSON, and no byte
 * before it: what lies between takes that for a dead connection, often after half a minute. What is late is answered with an
 * event stream at once, which says that it is alive until the answer comes on it.
 */
import { type Clock, LATE, type Timer, within } from "@claimcheck/core";
import { eventOf, KEEP_ALIVE, KEEP_ALIVE_MS } from "../listen/events.js";
import { isEventStream } from "./response-stream.js";

/** Most answers are there by then, with the status and the form that they would have had. */
const LATE_AFTER_MS = 5_000;

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  Connection: "keep-alive",
  "X-Accel-Buffering": "no",
};

/** `response`, or a stream that brings it as an event when it is late. */
export async function inTime(response: Promise<Response>, clock: Clock): Promise<Response> {
  const soon = await within(clock, LATE_AFTER_MS, response);
  return soon === LATE ? new Response(new LateStream(response, clock).body, { status: 200, headers: HEADERS }) : soon;
}

class LateStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isCancelled = false;

  constructor(response: Promise<Response>, clock: Clock) {
    this.#clock = clock;
    this.body = new ReadableStream({
      start: (controller) => {
        this.#keepAlive(controller);
        void this.#bring(response, controller);
      },
      // What the caller does not wait for any more the SDK hears of by the request's signal.
      cancel: (reason) => {
        this.#isCancelled = true;
        this.#quiet();
        return this.#reader?.cancel(reason);
      },
    });
  }

  #keepAlive(controller: ReadableStreamDefaultController<Uint8Array>): void {
    controller.enqueue(KEEP_ALIVE);
    this.#timer = this.#clock.setTimer(() => this.#keepAlive(controller), KEEP_ALIVE_MS);
  }

  #quiet(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  async #bring(response: Promise<Response>, controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const arrived = await response;
      if (this.#isCancelled) return await arrived.body?.cancel();
      if (isEventStream(arrived)) await this.#pass(arrived, controller);
      else controller.enqueue(eventOf(await arrived.text()));
      if (!this.#isCancelled) controller.close();
    } catch (error) {
      if (!this.#isCancelled) controller.error(error);
    } finally {
      this.#quiet();
    }
  }

  /** A stream of the SDK's keeps itself alive. */
  async #pass({ body }: Response, controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#quiet();
    this.#reader = body?.getReader();
    for (;;) {
      const { done, value } = (await this.#reader?.read()) ?? { done: true, value: undefined };
      if (done || this.#isCancelled) return;
      controller.enqueue(value);
    }
  }
}
