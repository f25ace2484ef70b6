/** Processes on one store, and what can be done to them. One world serves any number of seeds, one after the other. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Backend, openBackend } from "./backend.js";
import type { BrokenName } from "./broken.js";
import type { Disturbance, JournalLine } from "./history.js";
import { readJournal } from "./journal.js";
import { buildProgram } from "./program.js";
import type { Fault, FaultAtNode, StoreKind } from "./schedule.js";
import { ServerNode } from "./server-node.js";

/** How long a process that is asked to end may take; it gives its work a fifth of a second, twice. */
const LEAVE_MS = 4000;
const THROTTLE_MS = { stopped: 60, running: 30 };
const SLOW_MS = 80;

export interface WorldOptions {
  kind: StoreKind;
  nodes: number;
  broken?: BrokenName;
}

export class World {
  readonly #folder: string;
  readonly #log: number;
  readonly #backend: Backend;
  readonly nodes: readonly ServerNode[];
  /** What has gone wrong in no seed's schedule. */
  readonly crashes: { node: number; at: number; how: string }[] = [];
  #disturbances: Disturbance[] = [];

  private constructor(folder: string, backend: Backend, program: string, { nodes, broken }: WorldOptions) {
    this.#folder = folder;
    this.#log = openSync(join(folder, "log"), "a");
    this.#backend = backend;
    this.nodes = Array.from({ length: nodes }, (_, node) => {
      const config = { node, journal: this.#journalPath, store: backend.placeFor(node), ...(broken && { broken }) };
      const onCrash = (how: string): void => void this.crashes.push({ node, at: Date.now(), how });
      return new ServerNode({ program, config, log: this.#log, onCrash });
    });
  }

  static async open(options: WorldOptions): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), "claimcheck-chaos-"));
    const backend = await openBackend(options.kind, options.nodes, folder);
    const world = new World(folder, backend, await buildProgram(), options);
    try {
      // One first: of several that make the tables of one file, all but one would wait.
      await world.nodes[0]?.start();
      await world.heal();
      return world;
    } catch (error) {
      const log = world.log();
      await world.close();
      throw new Error(`${(error as Error).message}\n${log}`, { cause: error });
    }
  }

  get #journalPath(): string {
    return join(this.#folder, "journal");
  }

  journal(): JournalLine[] {
    return readJournal(this.#journalPath);
  }

  /** What the processes have said on stderr. */
  log(): string {
    return readFileSync(join(this.#folder, "log"), "utf8");
  }

  /** The disturbances since the last call. */
  takeDisturbances(): Disturbance[] {
    return this.#disturbances.splice(0);
  }

  /** Does what the fault says, for as long as it says. */
  async suffer(fault: Fault): Promise<void> {
    const disturbance: Disturbance = { kind: fault.kind, fromAt: Date.now(), untilAt: Number.POSITIVE_INFINITY };
    if ("node" in fault) disturbance.node = fault.node;
    this.#disturbances.push(disturbance);
    if ("node" in fault) await this.#sufferAt(fault);
    else if (fault.kind === "lock") await this.#backend.lock(fault.forMs);
    else await this.#backend.restart(fault.forMs);
    disturbance.untilAt = Date.now();
  }

  async #sufferAt(fault: FaultAtNode): Promise<void> {
    const node = this.nodes[fault.node] as ServerNode;
    switch (fault.kind) {
      case "kill":
        await node.kill();
        await sleep(fault.forMs);
        return node.start();
      case "leave":
        await this.#leave(fault.node, node);
        await sleep(fault.forMs);
        return node.start();
      case "pause":
        node.pause();
        await sleep(fault.forMs);
        return node.resume();
      case "throttle":
        return throttle(node, fault.forMs);
      default:
        return breakLine(this.#backend, fault);
    }
  }

  async #leave(at: number, node: ServerNode): Promise<void> {
    const leftAt = Date.now();
    const left = await node.leave(LEAVE_MS);
    const excused = this.#disturbances.some(
      ({ kind, node: where, untilAt }) => kind !== "leave" && (where ?? at) === at && untilAt >= leftAt,
    );
    if (!left && !excused) this.crashes.push({ node: at, at: leftAt, how: `did not leave within ${LEAVE_MS} ms` });
  }

  /** Ends every fault. Resolves when all processes serve. */
  async heal(): Promise<void> {
    for (const [at, node] of this.nodes.entries()) {
      node.resume();
      this.#backend.lineOf(at)?.holdUp(0);
    }
    await Promise.all(this.nodes.map((node) => node.start()));
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.#backend.close();
    closeSync(this.#log);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function throttle(node: ServerNode, forMs: number): Promise<void> {
  for (const until = Date.now() + forMs; Date.now() < until; ) {
    node.pause();
    await sleep(THROTTLE_MS.stopped);
    node.resume();
    await sleep(THROTTLE_MS.running);
  }
}

async function breakLine(backend: Backend, { kind, node, forMs }: FaultAtNode): Promise<void> {
  const line = backend.lineOf(node);
  if (line === undefined) return;
  if (kind === "drop") line.swallow({ toServer: true, toClient: true });
  if (kind === "stall") line.holdUp(Number.POSITIVE_INFINITY);
  if (kind === "slow") line.holdUp(SLOW_MS);
  await sleep(forMs);
  if (kind === "stall" || kind === "slow") line.holdUp(0);
  // Ended by nothing but itself: what was swallowed is missing, and no connection may go on after it as if nothing had been.
  if (kind === "drop") line.swallow({});
  if (kind === "drop" || kind === "cut") line.cut();
}
