/** One seed: does what its schedule says, heals everything, lets the work come to its end, and looks at all of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@claimcheck/core";
import { Client, tokenOf } from "./client.js";
import type { Creation, Exchange, History } from "./history.js";
import { CLIENTS, type Create, type Operation, type Schedule } from "./schedule.js";
import { isOver, noteIds } from "./sighting.js";
import type { World } from "./world.js";

const IDEMPOTENCY_META = "io.datalayer/idempotency-key";
/** How long before a client tries again, or looks again. */
const PAUSE_MS = 120;

export async function runSeed(world: World, schedule: Schedule): Promise<History> {
  return new Episode(world, schedule).run();
}

class Episode {
  readonly #world: World;
  readonly #schedule: Schedule;
  readonly #clients: Client[];
  readonly #exchanges: Exchange[] = [];
  readonly #creations: Creation[] = [];
  /** The ids that each client knows of, in the order in which it heard of them. */
  readonly #known: Set<string>[];
  #giveUpAt = Number.POSITIVE_INFINITY;

  constructor(world: World, schedule: Schedule) {
    this.#world = world;
    this.#schedule = schedule;
    this.#known = Array.from({ length: CLIENTS }, () => new Set());
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, number) =>
        new Client({
          number,
          token: tokenOf(schedule.seed, number),
          urlOf: (node) => (world.nodes[node] as { url: string }).url,
          onExchange: (exchange) => this.#heard(exchange),
        }),
    );
  }

  async run(): Promise<History> {
    const { operations, faults } = this.#schedule;
    const beganAt = Date.now();
    const creating: Promise<void>[] = [];
    const begun = (atMs: number): Promise<void> => sleep(beganAt + atMs - Date.now());
    await Promise.all([
      ...faults.map((fault) => begun(fault.atMs).then(() => this.#world.suffer(fault))),
      ...operations.map(async (operation) => {
        await begun(operation.atMs);
        // A keyed call is tried again until it is acknowledged, also when all is over.
        if (operation.kind === "create") creating.push(this.#create(operation));
        else await this.#operate(operation);
      }),
    ]);
    await this.#world.heal();
    const healedAt = Date.now();
    this.#giveUpAt = healedAt + this.#schedule.settleMs;
    await Promise.all(creating);
    await Promise.all(this.#clients.map((client) => this.#settle(client)));
    const settledAt = Date.now();
    await Promise.all(this.#clients.map((client) => this.#audit(client)));
    return {
      schedule: this.#schedule,
      ...{ beganAt, healedAt, settledAt },
      exchanges: this.#exchanges,
      creations: this.#creations,
      journal: this.#world.journal().filter(({ at }) => at >= beganAt),
      disturbances: this.#world.takeDisturbances(),
      crashes: this.#world.crashes.splice(0),
    };
  }

  #heard(exchange: Exchange): void {
    this.#exchanges.push(exchange);
    noteIds(exchange, this.#known[exchange.client] as Set<string>);
  }

  // --- calls -----------------------------------------------------------------------------------------------------

  async #create(operation: Create): Promise<void> {
    const { client, node, alsoAt, key } = operation;
    const creation = this.#creationOf(operation);
    const attempt = async (at: number): Promise<void> => this.#call(client, at, operation, creation);
    await Promise.all([attempt(node), ...(alsoAt === undefined ? [] : [attempt(alsoAt)])]);
    if (key === undefined) return;
    for (let tries = 1; creation.acknowledged.length === 0 && Date.now() < this.#giveUpAt; tries += 1) {
      await sleep(PAUSE_MS);
      await attempt((node + tries) % this.#schedule.nodes);
    }
  }

  #creationOf({ client, tool, work, key }: Create): Creation {
    const earlier = this.#creations.find((made) => key !== undefined && made.client === client && made.key === key);
    if (earlier !== undefined) return earlier;
    const creation: Creation = { client, tool, work, acknowledged: [], ...(key !== undefined && { key }) };
    this.#creations.push(creation);
    return creation;
  }

  async #call(from: number, node: number, { era, tool, work, key }: Create, creation: Creation): Promise<void> {
    const params: JsonObject = { name: tool, arguments: { ...work } };
    if (era === "2025") params.task = {};
    if (key !== undefined) params._meta = { [IDEMPOTENCY_META]: key };
    const exchange = await this.#client(from).ask(node, era, "tools/call", params);
    const { reply, endedAt } = exchange;
    if (reply === undefined || "error" in reply) return;
    const { taskId } = (reply.result.task ?? reply.result) as { taskId: string };
    creation.acknowledged.push({ taskId, at: endedAt });
  }

  // --- the rest --------------------------------------------------------------------------------------------------

  async #operate(operation: Exclude<Operation, Create>): Promise<void> {
    const { node, era } = operation;
    const client = this.#client(operation.client);
    if (operation.kind === "list") {
      await client.ask(node, "2025", "tasks/list", {});
      return;
    }
    const whose = operation.kind === "snoop" ? (operation.client + 1) % CLIENTS : operation.client;
    const taskId = this.#pick(whose, operation.task);
    if (taskId === undefined) return;
    if (operation.kind === "snoop") await this.#snoop(client, node, taskId);
    else if (operation.kind === "answer") await this.#answer(client, node, taskId);
    else if (operation.kind === "result") await client.ask(node, "2025", "tasks/result", { taskId });
    else await client.ask(node, era, `tasks/${operation.kind}`, { taskId });
  }

  #client(number: number): Client {
    return this.#clients[number] as Client;
  }

  #pick(client: number, where: number): string | undefined {
    const ids = [...(this.#known[client] as Set<string>)];
    return ids[Math.floor(where * ids.length)];
  }

  async #snoop(client: Client, node: number, taskId: string): Promise<void> {
    await Promise.all([
      client.ask(node, "2026", "tasks/get", { taskId }),
      client.ask(node, "2025", "tasks/result", { taskId }),
      client.ask(node, "2026", "tasks/cancel", { taskId }),
      client.ask(node, "2026", "tasks/update", { taskId, inputResponses: {} }),
    ]);
  }

  /** Answers what the task asks, if it does, each time with another word. */
  async #answer(client: Client, node: number, taskId: string, seen?: Exchange): Promise<void> {
    const { reply } = seen ?? (await client.ask(node, "2026", "tasks/get", { taskId }));
    if (reply === undefined || "error" in reply) return;
    for (const key of Object.keys((reply.result.inputRequests ?? {}) as JsonObject)) {
      const word = `word ${this.#exchanges.length}`;
      const inputResponses = { [key]: { action: "accept", content: { word } } };
      await client.ask(node, "2026", "tasks/update", { taskId, inputResponses });
    }
  }

  // --- the end ---------------------------------------------------------------------------------------------------

  /** Looks at each of the client's tasks until it has ended, and answers what it asks. */
  async #settle(client: Client): Promise<void> {
    const { nodes } = this.#schedule;
    const settleOne = async (taskId: string, n: number): Promise<void> => {
      for (let looks = n; Date.now() < this.#giveUpAt; looks += 1) {
        const seen = await client.ask(looks % nodes, "2026", "tasks/get", { taskId });
        if (isOver(seen)) return;
        await this.#answer(client, (looks + 1) % nodes, taskId, seen);
        await sleep(PAUSE_MS);
      }
    };
    const settled = new Set<string>();
    for (
      let left = await this.#findAll(client, settled);
      left.length > 0;
      left = await this.#findAll(client, settled)
    ) {
      for (const taskId of left) settled.add(taskId);
      await Promise.all(left.map(settleOne));
    }
  }

  /** The client's tasks but for `settled`, those too whose creation was not acknowledged. */
  async #findAll(client: Client, settled: ReadonlySet<string>): Promise<string[]> {
    for (let node = client.number; Date.now() < this.#giveUpAt; node += 1) {
      if (await this.#isListed(client, node % this.#schedule.nodes)) break;
      await sleep(PAUSE_MS);
    }
    return [...(this.#known[client.number] as Set<string>)].filter((taskId) => !settled.has(taskId));
  }

  async #isListed(client: Client, node: number): Promise<boolean> {
    const { reply } = await client.ask(node, "2025", "tasks/list", {});
    return reply !== undefined && "result" in reply;
  }

  /** Until it is answered: a process that is busy may not have reached its store in time. */
  async #listAt(client: Client, node: number): Promise<void> {
    while (!(await this.#isListed(client, node)) && Date.now() < this.#giveUpAt) await sleep(PAUSE_MS);
  }

  /** Looks at everything once more, by every method and through every process. */
  async #audit(client: Client): Promise<void> {
    const { nodes } = this.#schedule;
    for (let node = 0; node < nodes; node += 1) await this.#listAt(client, node);
    for (const [n, taskId] of [...(this.#known[client.number] as Set<string>)].entries()) {
      const left = await client.ask(n % nodes, "2026", "tasks/get", { taskId });
      // Of a task that has not ended there is no result to wait for.
      if (isOver(left)) await client.ask((n + 1) % nodes, "2025", "tasks/result", { taskId });
    }
    const foreign = this.#pick((client.number + 1) % CLIENTS, 0);
    if (foreign !== undefined) await this.#snoop(client, client.number % nodes, foreign);
  }
}
