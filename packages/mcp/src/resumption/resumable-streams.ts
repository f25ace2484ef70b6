/**
 * The event streams of one session, apart from the connections that read them. A client whose connection broke comes back
 * with the id of the last event that it has seen, and reads on (2025-11-25, Transports, "Resumability and Redelivery").
 *
 * The SDK's own event store would leave out what is needed beside replaying: which requests a broken stream answers, so
 * that they are not cancelled at once; that the end of a cancelled request is no answer to be replayed; and an id for a
 * stream that has had no event yet. So the SDK writes each stream once, to a reader that never goes away.
 */
import type { Deadline, Deadlines } from "@claimcheck/core";
import type { RequestId } from "@modelcontextprotocol/server";
import { errorResponse } from "../http/error-response.js";
import { isEventStream } from "../http/response-stream.js";
import { KeptEvents, MAX_KEPT_EVENTS } from "./kept-events.js";

export interface ResumableStreamsOptions {
  /** How long a stream that broke, or that has ended, can be taken up again, ms. 0: none can. */
  resumeMs: number;
  deadlines: Deadlines;
  /** Nobody has come back for the answers to these requests. */
  onGivenUp: (requestIds: readonly RequestId[]) => void;
}

interface Stream {
  /** The requests that it answers; none on the session's own stream. */
  requestIds: readonly RequestId[];
  headers: Headers;
  source: ReadableStreamDefaultReader<Uint8Array>;
  reader: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Whether a client has an id to come back with. */
  isTold: boolean;
  isOver: boolean;
  /** When it is given up. */
  deadline: Deadline | undefined;
}

const COMMENT = ":".charCodeAt(0);

/** The first revision whose clients take an event without data, which brings them an id. */
const FIRST_TO_PRIME = "2025-11-25";

export class ResumableStreams {
  readonly #options: ResumableStreamsOptions;
  readonly #events = new KeptEvents<Stream>();
  readonly #open = new Set<Stream>();
  /** The one that is no answer to a request. */
  #own: Stream | undefined;
  /** Those that have ended and can still be read again, oldest first. */
  readonly #over = new Set<Stream>();
  #isClosed = false;

  constructor(options: ResumableStreamsOptions) {
    this.#options = options;
  }

  get canResume(): boolean {
    return this.#options.resumeMs > 0 && !this.#isClosed;
  }

  /** The SDK's `response` to `request`, which asks what `requestIds` name. An event stream can be taken up again from here on. */
  carry(response: Response, request: Request, requestIds: readonly RequestId[]): Response {
    const { body, headers } = response;
    if (body === null || !isEventStream(response)) return response;
    const source = body.getReader();
    const stream: Stream = {
      requestIds,
      headers,
      source,
      reader: undefined,
      isTold: false,
      isOver: false,
      deadline: undefined,
    };
    this.#open.add(stream);
    if (requestIds.length === 0) this.#own = stream;
    const start = this.#events.begin(stream);
    const carried = this.#attach(stream, this.canResume ? priming(request, start) : [], request.signal);
    void this.#pass(stream);
    return carried;
  }

  /** What followed the event, and then what comes, on the same stream. The last connection that asks for a stream has it. */
  resume(lastEventId: string, request: Request): Response {
    const stream = this.#events.streamOf(lastEventId);
    if (stream === undefined) return errorResponse(400, -32000, UNKNOWN_EVENT);
    const missed = this.#events.after(lastEventId);
    // What tells every reader of event streams not to come again (HTML, "Server-sent events").
    if (stream.isOver && missed.length === 0) return new Response(null, { status: 204 });
    // The SDK's clients know no more of the id that they came with when this connection breaks before an event.
    return this.#attach(stream, missed.length > 0 ? missed : priming(request, lastEventId), request.signal);
  }

  /** Gives up the session's own stream if nobody reads it: its client asks for a new one, and the SDK has one at a time. */
  makeWay(): void {
    const own = this.#own;
    if (own === undefined || own.reader !== undefined) return;
    this.#forget(own);
    void own.source.cancel();
  }

  /** The session is over, and its streams end with it. */
  close(): void {
    this.#isClosed = true;
    for (const stream of [...this.#open, ...this.#over]) this.#forget(stream);
  }

  #attach(stream: Stream, events: readonly Uint8Array[], signal: AbortSignal): Response {
    if (stream.reader !== undefined) end(stream.reader);
    if (!stream.isOver) stream.deadline?.cancel();
    let reader!: ReadableStreamDefaultController<Uint8Array>;
    const leave = (): void => {
      if (stream.reader !== reader) return;
      stream.reader = undefined;
      end(reader);
      this.#left(stream);
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        reader = controller;
      },
      cancel: leave,
    });
    for (const event of events) reader.enqueue(event);
    if (stream.isOver) end(reader);
    else stream.reader = reader;
    if (events.length > 0 && !signal.aborted) stream.isTold = true;
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    return new Response(body, { headers: stream.headers });
  }

  /** The connection has broken. The session's own stream waits for as long as there is the session. */
  #left(stream: Stream): void {
    if (stream === this.#own) return;
    const giveUp = (): void => this.#options.onGivenUp(stream.requestIds);
    if (this.canResume && stream.isTold) stream.deadline = this.#later(giveUp);
    else giveUp();
  }

  async #pass(stream: Stream): Promise<void> {
    const { source } = stream;
    try {
      for (let read = await source.read(); !read.done; read = await source.read()) this.#take(stream, read.value);
    } catch {
      // One that fails has nothing more to say either.
    }
    this.#end(stream);
  }

  /** The SDK writes an event at a time. A comment is for whoever reads at the moment. */
  #take(stream: Stream, chunk: Uint8Array): void {
    const { reader } = stream;
    const isEvent = this.canResume && chunk[0] !== COMMENT;
    const event = isEvent ? this.#events.add(stream, chunk) : chunk;
    reader?.enqueue(event);
    if (isEvent && reader !== undefined) stream.isTold = true;
  }

  #end(stream: Stream): void {
    stream.isOver = true;
    stream.deadline?.cancel();
    if (stream.reader !== undefined) end(stream.reader);
    stream.reader = undefined;
    if (!this.canResume || !this.#open.delete(stream)) {
      this.#forget(stream);
      return;
    }
    this.#over.add(stream);
    stream.deadline = this.#later(() => this.#forget(stream));
    const [oldest] = this.#over;
    if (this.#over.size > MAX_KEPT_EVENTS && oldest !== undefined) this.#forget(oldest);
  }

  #later(callback: () => void): Deadline {
    const { deadlines, resumeMs } = this.#options;
    return deadlines.after(resumeMs, callback);
  }

  #forget(stream: Stream): void {
    stream.deadline?.cancel();
    this.#open.delete(stream);
    this.#over.delete(stream);
    if (this.#own === stream) this.#own = undefined;
    this.#events.forget(stream);
  }
}

const UNKNOWN_EVENT =
  "Nothing can be replayed from this event id: this session has sent none like it, or too much has followed. " +
  "Open a stream without Last-Event-ID, and ask for the results of tasks by tasks/result.";

/** An event that brings no more than the id to come back with, to a client that takes such a one. */
function priming({ headers }: Request, id: string): Uint8Array[] {
  const version = headers.get("mcp-protocol-version");
  return version !== null && version >= FIRST_TO_PRIME ? [Buffer.from(`id: ${id}\ndata: \n\n`)] : [];
}

/** One that its reader has given up has ended already. */
function end(reader: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    reader.close();
  } catch {
    // It has.
  }
}
