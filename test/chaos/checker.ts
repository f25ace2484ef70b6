/**
 * Proves from what clients heard and what tools wrote that every promise of docs/guarantees.md was kept. Pure: what it
 * reads is a history, and what it answers is what is wrong with it.
 */
import type { JsonObject } from "@claimcheck/core";
import { clientOf } from "./client.js";
import { Facts } from "./facts.js";
import type { Exchange, History, Start } from "./history.js";
import { LEASE_MS, TOOLS } from "./schedule.js";
import { NO_SUCH_TASK, type Sighting, sightingsIn } from "./sighting.js";

/** By the promise that was broken. */
export type Rule =
  | "process-crashed"
  | "task-lost"
  | "stuck"
  | "recovered-late"
  | "run-again"
  | "living-peer-robbed"
  | "stale-outcome"
  | "end-changed"
  | "payload-and-status"
  | "foreign-task-seen"
  | "key-made-two"
  | "cancelled-unasked"
  | "cancel-not-kept"
  | "answer-not-kept"
  | "checkpoint-lost";

export interface Violation {
  rule: Rule;
  taskId?: string;
  what: string;
}

/** How often a task that may run again is run, all told, but for what was handed over in good order. */
const MOST_TRIES = 3;
/** What a machine with much else to do may add to two leases, beside what its processes say that they were kept waiting. */
const BUSY_MS = 2000;
/** What the runtime says of a task whose process was lost. */
const LOST = "The process that ran this task was lost";

export function check(history: History): Violation[] {
  const facts = new Facts(history);
  return [
    ...crashes(facts),
    ...lostTasks(facts),
    ...stuckTasks(facts),
    ...orphans(facts),
    ...[...facts.startsOf.entries()].flatMap(([taskId, starts]) => runsOf(facts, taskId, starts)),
    ...[...facts.sightingsOf.entries()].flatMap(([taskId, sightings]) => endsOf(facts, taskId, sightings)),
    ...foreignTasks(facts),
    ...doubledCalls(facts),
  ];
}

// --- what is there ---------------------------------------------------------------------------------------------------

function crashes({ history }: Facts): Violation[] {
  return history.crashes.map(({ node, how }) => ({ rule: "process-crashed", what: `process ${node}: ${how}` }));
}

/** An acknowledged task is there, whatever happened since, and in the listing of its owner. */
function lostTasks(facts: Facts): Violation[] {
  const { creations, exchanges, settledAt } = facts.history;
  return creations.flatMap(({ client, acknowledged }) =>
    acknowledged.flatMap(({ taskId, at }): Violation[] => {
      const denied = facts.askedAbout(taskId).find((each) => each.sentAt > at && saysNoSuchTask(each));
      if (denied !== undefined) return [{ rule: "task-lost", taskId, what: `${denied.method} found no such task` }];
      const listings = exchanges.filter(
        (each) => each.client === client && each.sentAt >= settledAt && each.method === "tasks/list" && isListing(each),
      );
      const lacking = listings.find((each) => !sightingsIn(each).some((sighting) => sighting.taskId === taskId));
      return lacking === undefined ? [] : [{ rule: "task-lost", taskId, what: "it is missing from the listing" }];
    }),
  );
}

/** An answer that says that the store is out shows nothing, and denies nothing. */
function isListing({ reply }: Exchange): boolean {
  return reply !== undefined && "result" in reply;
}

function saysNoSuchTask({ reply }: Exchange): boolean {
  return reply !== undefined && "error" in reply && reply.error.message === NO_SUCH_TASK;
}

/** Nothing is `working` for ever. */
function stuckTasks(facts: Facts): Violation[] {
  const { healedAt, settledAt, creations, schedule } = facts.history;
  const { settleMs } = schedule;
  const stuck = (taskId: string): Violation[] => {
    const sightings = facts.sightingsOf.get(taskId) ?? [];
    // A request that its client had given up may make a task at any time, which nobody was waiting for.
    if (sightings.every(({ exchange }) => exchange.sentAt >= settledAt)) return [];
    const over = sightings.find(({ state }) => state !== "live");
    if (over !== undefined && over.exchange.sentAt <= healedAt + settleMs) return [];
    // What cannot be found is lost, which is another rule's.
    if (facts.askedAbout(taskId).some(saysNoSuchTask)) return [];
    return [{ rule: "stuck", taskId, what: `it has not ended ${settleMs} ms after everything worked again` }];
  };
  const ids = new Set([...facts.sightingsOf.keys(), ...facts.startsOf.keys()]);
  const unacknowledged = creations.filter(({ key, acknowledged }) => key !== undefined && acknowledged.length === 0);
  return [
    ...[...ids].flatMap(stuck),
    ...unacknowledged.map(({ work }): Violation => ({ rule: "stuck", what: `no retry of ${work.call} was answered` })),
  ];
}

/** What has no live runner is taken up or ended within two leases of when everything works again. */
function orphans(facts: Facts): Violation[] {
  const { healedAt } = facts.history;
  const living = facts.lastOpened();
  const byAt = healedAt + 2 * LEASE_MS + BUSY_MS + facts.keptWaitingMs(healedAt);
  return [...facts.startsOf].flatMap(([taskId, starts]): Violation[] => {
    const last = starts.toSorted((a, b) => a.epoch - b.epoch).at(-1) as Start;
    const ended = facts.endedAt(taskId);
    if ((living.get(last.node) ?? last.pid) === last.pid || ended === undefined || ended <= byAt) return [];
    const what = `${last.run} was lost with its process, and it ended ${ended - healedAt} ms after all worked again`;
    return [{ rule: "recovered-late", taskId, what }];
  });
}

// --- what ran --------------------------------------------------------------------------------------------------------

/** A task runs again only if its tool allows it, as often as may be, and never while its runner is alive and well. */
function runsOf(facts: Facts, taskId: string, starts: Start[]): Violation[] {
  const violations: Violation[] = [];
  const tool = (starts[0] as Start).tool;
  const handedOver = facts.history.disturbances.filter(({ kind }) => kind === "leave").length;
  const most = TOOLS[tool] === "fail" ? 1 : MOST_TRIES + handedOver;
  if (starts.length > most)
    violations.push({ rule: "run-again", taskId, what: `${tool} ran ${starts.length} times; ${most} are allowed` });
  const ordered = starts.toSorted((a, b) => a.epoch - b.epoch);
  for (const [n, start] of ordered.entries()) {
    const before = ordered[n - 1];
    if (before === undefined) continue;
    if (before.epoch === start.epoch)
      violations.push({ rule: "run-again", taskId, what: `epoch ${start.epoch} was given to two runs` });
    else if (!facts.wasDisturbed(before.node, Math.max(before.at, start.at - 2 * LEASE_MS), start.at))
      violations.push({ rule: "living-peer-robbed", taskId, what: `${start.run} took it from ${before.run}` });
  }
  return [...violations, ...checkpointsOf(facts, taskId, ordered)];
}

/** A run that goes on has the last checkpoint that an earlier one was told is kept. */
function checkpointsOf({ history }: Facts, taskId: string, starts: Start[]): Violation[] {
  return starts.flatMap((start, n): Violation[] => {
    const earlier = new Set(starts.slice(0, n).map(({ run }) => run));
    const kept = history.journal.flatMap((line) =>
      line.event === "checkpoint" && earlier.has(line.run) && line.at < start.at ? [line.step] : [],
    );
    const last = Math.max(0, ...kept);
    if (start.tool !== "onward" || Number(start.resumeFrom ?? 0) >= last) return [];
    return [{ rule: "checkpoint-lost", taskId, what: `${start.run} began at ${start.resumeFrom}, kept was ${last}` }];
  });
}

// --- what it came to -------------------------------------------------------------------------------------------------

function endsOf(facts: Facts, taskId: string, sightings: Sighting[]): Violation[] {
  return [
    ...changedEnds(taskId, sightings),
    ...payloads(taskId, sightings),
    ...staleOutcomes(facts, taskId, sightings),
    ...robberies(facts, taskId, sightings),
    ...cancellations(facts, taskId, sightings),
    ...answers(facts, taskId, sightings),
  ];
}

/** Whatever has ended stays as it is: for everybody, in every answer that was asked for after one that said so. */
function changedEnds(taskId: string, sightings: Sighting[]): Violation[] {
  const ends = sightings.filter(({ state }) => state !== "live");
  const firstEndAt = Math.min(...ends.map(({ exchange }) => exchange.endedAt));
  const violations: Violation[] = [];
  const revived = sightings.find(({ state, exchange }) => state === "live" && exchange.sentAt > firstEndAt);
  if (revived !== undefined) violations.push({ rule: "end-changed", taskId, what: "it had ended, and was seen alive" });
  for (const aspect of [stateOf, payloadOf, updatedAt]) {
    const seen = new Set(ends.map(aspect).filter((each) => each !== undefined));
    if (seen.size > 1) violations.push({ rule: "end-changed", taskId, what: [...seen].join(" and ") });
  }
  return violations;
}

const stateOf = ({ state }: Sighting): string | undefined => (state === "ended" ? undefined : state);
const payloadOf = ({ payload }: Sighting): string | undefined => payload && JSON.stringify(payload);
const updatedAt = ({ lastUpdatedAt }: Sighting): string | undefined => lastUpdatedAt?.toString();

/** Nobody sees an end without what it came to, nor what it came to without an end. */
function payloads(taskId: string, sightings: Sighting[]): Violation[] {
  return sightings.flatMap(({ state, payload, exchange }): Violation[] => {
    const violation = (what: string): Violation[] => [{ rule: "payload-and-status", taskId, what }];
    if (state === "live") return payload === undefined ? [] : violation("it is not over, and has a result");
    const tells = exchange.method === "tasks/result" || (exchange.method === "tasks/get" && exchange.era === "2026");
    if (!tells || state === "cancelled") return [];
    if (payload === undefined) return violation(`it is ${state}, and has no result`);
    if (state === "completed" && runIn(payload) === undefined) return violation("its result is not its tool's");
    return [];
  });
}

function runIn(payload: JsonObject): { run: string; epoch: number; word?: string } | undefined {
  const told = payload.structuredContent as { run?: string; epoch?: number } | null;
  return typeof told?.run === "string" ? (told as { run: string; epoch: number }) : undefined;
}

/** What stands was brought by the run with the last lease: whoever has an older one can write nothing. */
function staleOutcomes(facts: Facts, taskId: string, sightings: Sighting[]): Violation[] {
  const starts = facts.startsOf.get(taskId) ?? [];
  const completed = sightings.find(({ state, payload }) => state === "completed" && payload !== undefined);
  const told = completed?.payload && runIn(completed.payload);
  if (told === undefined) return [];
  const violation = (what: string): Violation[] => [{ rule: "stale-outcome", taskId, what }];
  if (!starts.some(({ run }) => run === told.run)) return violation(`${told.run} brought its result, and never ran it`);
  if (facts.endOf(told.run)?.how !== "returned") return violation(`${told.run} brought its result, and never returned`);
  const last = Math.max(...starts.map(({ epoch }) => epoch));
  if (told.epoch === last) return [];
  return violation(`the run of epoch ${told.epoch} brought its result, when epoch ${last} had begun`);
}

/** A task ends as lost only if something happened to its runner. */
function robberies(facts: Facts, taskId: string, sightings: Sighting[]): Violation[] {
  const lost = sightings.find(({ payload }) => JSON.stringify(payload ?? "").includes(LOST));
  const last = (facts.startsOf.get(taskId) ?? []).toSorted((a, b) => a.epoch - b.epoch).at(-1);
  if (lost === undefined || last === undefined) return [];
  const lostAt = facts.endedAt(taskId) ?? lost.exchange.endedAt;
  if (facts.wasDisturbed(last.node, Math.max(last.at, lostAt - 2 * LEASE_MS), lostAt)) return [];
  return [{ rule: "living-peer-robbed", taskId, what: `it ended as lost, and its runner ${last.run} was well` }];
}

/** A task is cancelled only if its owner asked for it, and once that is answered it has ended. */
function cancellations(facts: Facts, taskId: string, sightings: Sighting[]): Violation[] {
  const asked = facts.askedAbout(taskId).filter(({ method }) => method === "tasks/cancel");
  const cancelled = sightings.find(({ state }) => state === "cancelled");
  if (cancelled !== undefined && !asked.some(({ sentAt }) => sentAt <= cancelled.exchange.endedAt))
    return [{ rule: "cancelled-unasked", taskId, what: "it was cancelled, and its owner had not asked for it" }];
  return asked.flatMap(({ reply, endedAt }): Violation[] => {
    if (reply === undefined || "error" in reply) return [];
    const alive = sightings.find(({ state, exchange }) => state === "live" && exchange.sentAt > endedAt);
    return alive === undefined ? [] : [{ rule: "cancel-not-kept", taskId, what: "it went on after it was cancelled" }];
  });
}

/** What a tool was told is what its owner answered. */
function answers(facts: Facts, taskId: string, sightings: Sighting[]): Violation[] {
  const payload = sightings.find(({ state }) => state === "completed")?.payload;
  const word = payload && runIn(payload)?.word;
  if (word === undefined) return [];
  const said = facts.askedAbout(taskId).some((each) => JSON.stringify(each.params).includes(JSON.stringify(word)));
  return said ? [] : [{ rule: "answer-not-kept", taskId, what: `its tool was told ${JSON.stringify(word)}` }];
}

// --- whose it is -----------------------------------------------------------------------------------------------------

/** Nobody sees, or does anything to, another's task; not even that there is one. */
function foreignTasks(facts: Facts): Violation[] {
  return facts.history.exchanges.flatMap((exchange): Violation[] => {
    const { reply, client, method, params } = exchange;
    if (reply === undefined) return [];
    const seen = sightingsIn(exchange).find(({ taskId }) => isForeign(facts, taskId, client));
    const violation = (what: string, taskId: string): Violation[] => [{ rule: "foreign-task-seen", taskId, what }];
    if (seen !== undefined) return violation(`${method} showed it to client ${client}`, seen.taskId);
    const asked = String(params.taskId);
    if (!isForeign(facts, asked, client) || saysNoSuchTask(exchange) || isOutage(exchange)) return [];
    return violation(`${method} answered client ${client} ${JSON.stringify(reply)}`, asked);
  });
}

function isForeign({ clientOf }: Facts, taskId: string, client: number): boolean {
  return (clientOf.get(taskId) ?? client) !== client;
}

const INTERNAL_ERROR = -32603;

function isOutage({ reply }: Exchange): boolean {
  return reply !== undefined && "error" in reply && reply.error.code === INTERNAL_ERROR;
}

/** A call that is made again under its key, at once or later, is the one task. */
function doubledCalls(facts: Facts): Violation[] {
  const tasksOf = new Map<string, Set<string>>();
  const add = (client: number, call: string, taskId: string): void => {
    const name = `${call} of client ${client}`;
    tasksOf.set(name, (tasksOf.get(name) ?? new Set()).add(taskId));
  };
  for (const { client, work, acknowledged } of facts.history.creations)
    for (const { taskId } of acknowledged) add(client, work.call, taskId);
  for (const starts of facts.startsOf.values())
    for (const { owner, work, taskId } of starts) add(clientOf(owner), work.call, taskId);
  return [...tasksOf].flatMap(([name, ids]): Violation[] =>
    ids.size < 2 ? [] : [{ rule: "key-made-two", what: `${name} is ${[...ids].join(" and ")}` }],
  );
}
