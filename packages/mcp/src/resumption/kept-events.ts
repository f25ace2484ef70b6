/** The last events of a session's streams, by id. Of an id only whether it is known says anything; nothing is read out of it. */
import { randomUUID } from "node:crypto";

/** How many events of one session are kept. */
export const MAX_KEPT_EVENTS = 1000;

/** How many bytes of them; a single event may be as large as it is. */
export const MAX_KEPT_BYTES: number = 1024 * 1024;

/** What is kept of one stream. */
interface Track {
  /** The id after which nothing is missing: of the last event that was dropped, or of the beginning. */
  start: string;
  events: Map<string, Uint8Array>;
}

export class KeptEvents<Stream extends object> {
  readonly #tracks = new Map<Stream, Track>();
  readonly #starts = new Map<string, Stream>();
  /** Oldest first. */
  readonly #kept = new Map<string, Stream>();
  #bytes = 0;

  /** @returns the id that stands for the stream's beginning */
  begin(stream: Stream): string {
    const start = randomUUID();
    this.#tracks.set(stream, { start, events: new Map() });
    this.#starts.set(start, stream);
    return start;
  }

  /** @returns the event with its id. The oldest of the session make room for it. */
  add(stream: Stream, event: Uint8Array): Uint8Array {
    const track = this.#tracks.get(stream);
    if (track === undefined) return event;
    const id = randomUUID();
    const identified = Buffer.concat([Buffer.from(`id: ${id}\n`), event]);
    track.events.set(id, identified);
    this.#kept.set(id, stream);
    this.#bytes += identified.length;
    while (this.#kept.size > MAX_KEPT_EVENTS || (this.#bytes > MAX_KEPT_BYTES && this.#kept.size > 1))
      this.#dropOldest();
    return identified;
  }

  /** The stream that the event was on, unless events that followed it there have been dropped. */
  streamOf(id: string): Stream | undefined {
    return this.#kept.get(id) ?? this.#starts.get(id);
  }

  /** What followed on the event's stream. */
  after(id: string): Uint8Array[] {
    const stream = this.streamOf(id);
    const track = stream === undefined ? undefined : this.#tracks.get(stream);
    if (track === undefined) return [];
    const ids = [...track.events.keys()];
    return [...track.events.values()].slice(ids.indexOf(id) + 1);
  }

  forget(stream: Stream): void {
    const track = this.#tracks.get(stream);
    if (track === undefined) return;
    this.#tracks.delete(stream);
    this.#starts.delete(track.start);
    for (const [id, event] of track.events) {
      this.#kept.delete(id);
      this.#bytes -= event.length;
    }
  }

  #dropOldest(): void {
    for (const [id, stream] of this.#kept) {
      this.#kept.delete(id);
      const track = this.#tracks.get(stream) as Track;
      this.#bytes -= track.events.get(id)?.length ?? 0;
      track.events.delete(id);
      this.#starts.delete(track.start);
      track.start = id;
      this.#starts.set(id, stream);
      return;
    }
  }
}
