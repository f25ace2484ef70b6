/** Server-sent events, as far as MCP uses them: one JSON-RPC message each. */

const encoder = new TextEncoder();

/** The event that carries a message, given as JSON. */
export function eventOf(text: string): Uint8Array {
  return encoder.encode(`event: message\ndata: ${text}\n\n`);
}

/** Keeps whatever lies between from taking a quiet stream for a dead one. */
export const KEEP_ALIVE: Uint8Array = encoder.encode(": keepalive\n\n");
/** How often a quiet stream says that it is alive: as often as the SDK's do. */
export const KEEP_ALIVE_MS = 15_000;

/** The messages of an event stream as the SDK writes it; comments are left out. Returning early cancels the stream. */
export async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown, void, undefined> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) yield JSON.parse(data.slice("data: ".length));
    }
  }
}
