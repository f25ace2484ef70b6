/**
 * A stream that waits for news stands open long after its request was authorized, and would tell whoever holds it what a new
 * request with the same token would not be answered. It ends with its token: a client comes again then, with a fresh token,
 * or is told by a 401 where to get one.
 */
import type { Clock } from "@claimcheck/core";
import { isEventStream } from "../http/response-stream.js";
import { asObject } from "../wire/request.js";

/** Whether the answer to this request stands open for news, and is not just long in coming. */
export function isStanding(method: string, body: unknown): boolean {
  return method === "GET" || asObject(body)?.method === "subscriptions/listen";
}

/** A comment: parsers of event streams pass over it, people who look at one read it. */
const LAST_WORDS = new TextEncoder().encode(": the bearer token has expired\n\n");

/** `response`, and where it is an event stream, no more of it from `expiresAt` on, epoch milliseconds. */
export function untilExpiry(response: Response, expiresAt: number, clock: Clock): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || !isEventStream(response)) return response;
  const reader = body.getReader();
  let isExpired = false;
  const expire = (): void => {
    isExpired = true;
    // Whoever reads finds the end. A race of each read against the expiry would keep all that was read until then.
    reader.cancel().catch(() => {});
  };
  const timer = clock.setTimer(expire, Math.max(0, expiresAt - clock.now()));
  const ended = (): void => clock.clearTimer(timer);
  const bounded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        if (isExpired) controller.enqueue(LAST_WORDS);
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    cancel: (reason) => {
      ended();
      return reader.cancel(reason);
    },
  });
  return new Response(bounded, { status, statusText, headers });
}
