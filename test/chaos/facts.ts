import { clientOf } from "./client.js";
import type { Disturbance, Exchange, History, JournalLine, Start } from "./history.js";
import { type Sighting, sightingsIn } from "./sighting.js";

/** How far the clocks of two processes of one host are apart at the most. */
const CLOCKS_MS = 50;

/** A history, looked up by task. */
export class Facts {
  readonly history: History;
  readonly sightingsOf = new Map<string, Sighting[]>();
  readonly startsOf = new Map<string, Start[]>();
  /** Whose a task is, by whoever ran it, was given it, or has it in a listing. */
  readonly clientOf = new Map<string, number>();
  readonly #late: Disturbance[];

  constructor(history: History) {
    this.history = history;
    for (const exchange of history.exchanges)
      for (const sighting of sightingsIn(exchange)) push(this.sightingsOf, sighting.taskId, sighting);
    for (const line of history.journal) if (line.event === "start") this.#started(line);
    for (const { client, acknowledged } of history.creations)
      for (const { taskId } of acknowledged) if (!this.clientOf.has(taskId)) this.clientOf.set(taskId, client);
    // Of what was not acknowledged and never ran, the first listing tells.
    for (const exchange of history.exchanges)
      if (exchange.method === "tasks/list")
        for (const { taskId } of sightingsIn(exchange))
          if (!this.clientOf.has(taskId)) this.clientOf.set(taskId, exchange.client);
    this.#late = history.journal.flatMap((line) =>
      line.event === "late" ? [{ kind: line.why, node: line.node, fromAt: line.sinceAt, untilAt: line.at }] : [],
    );
  }

  #started(line: Start): void {
    push(this.startsOf, line.taskId, line);
    this.clientOf.set(line.taskId, clientOf(line.owner));
  }

  /** Whether something kept the process at `node` from renewing its leases between the two instants. */
  wasDisturbed(node: number, fromAt: number, untilAt: number): boolean {
    return [...this.history.disturbances, ...this.#late].some(
      (each) =>
        (each.node ?? node) === node && each.fromAt <= untilAt + CLOCKS_MS && each.untilAt >= fromAt - CLOCKS_MS,
    );
  }

  /** When the task ended, by its record. */
  endedAt(taskId: string): number | undefined {
    const ends = this.sightingsOf.get(taskId)?.filter(({ state }) => state !== "live") ?? [];
    return ends.find(({ lastUpdatedAt }) => lastUpdatedAt !== undefined)?.lastUpdatedAt;
  }

  /** The last process that was opened at each node. */
  lastOpened(): Map<number, number> {
    return new Map(this.history.journal.flatMap(({ event, node, pid }) => (event === "opened" ? [[node, pid]] : [])));
  }

  /** For how long all processes together say that they were kept waiting after `sinceAt`. */
  keptWaitingMs(sinceAt: number): number {
    return this.#late.reduce((sum, { fromAt, untilAt }) => sum + Math.max(0, untilAt - Math.max(fromAt, sinceAt)), 0);
  }

  endOf(run: string): Extract<JournalLine, { event: "end" }> | undefined {
    for (const line of this.history.journal) if (line.event === "end" && line.run === run) return line;
    return undefined;
  }

  /** The exchanges by which the task's own client asked about it. */
  askedAbout(taskId: string): Exchange[] {
    const client = this.clientOf.get(taskId);
    return this.history.exchanges.filter((each) => each.client === client && each.params.taskId === taskId);
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
