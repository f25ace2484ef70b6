/** What is kept of a response for a reader who does not take it. */

/** How many bytes of an event stream are kept unread. */
export const MAX_UNREAD_BYTES: number = 1024 * 1024;

export interface Watching {
  /** Called once: the body has ended, or nobody reads it any more. */
  done?: () => void;
  /** The stream has been cut, since its reader took nothing for too long. */
  stalled: (error: Error) => void;
}

/**
 * `response` with its body watched. The SDK writes an event stream without looking whether anybody reads it; here one of
 * which {@link MAX_UNREAD_BYTES} wait unread is cut at the next event. A single event may be as large as it is.
 */
export function watched(response: Response, { done = () => {}, stalled }: Watching): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || !isEventStream(response)) {
    done();
    return response;
  }
  const reader = body.getReader();
  const kept = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        void pass(reader, controller, stalled).finally(done);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
  return new Response(kept, { status, statusText, headers });
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Resolves when there is nothing more to pass on. */
async function pass(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
  stalled: (error: Error) => void,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if ((controller.desiredSize ?? 0) <= 0) throw new StalledError();
      controller.enqueue(value);
    }
  } catch (error) {
    // Of a body that its reader has given up there is nothing left to fail.
    controller.error(error);
    if (!(error instanceof StalledError)) return;
    stalled(error);
    await reader.cancel(error).catch(() => {});
  }
}

class StalledError extends Error {
  override readonly name = "StalledError";

  constructor() {
    super(`Cut the stream of a client that does not read: ${MAX_UNREAD_BYTES} bytes wait for it.`);
  }
}
