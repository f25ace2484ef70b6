/**
 * Schedules that are each aimed at one thing which a runtime may do wrong: some seconds in which it shows, where the
 * schedule of a seed would come to it by chance. The seed moves instants a little.
 */
import type { BrokenName } from "./broken.js";
import { Random } from "./random.js";
import { CLIENTS, type Create, LEASE_MS, nodesOn, type Operation, type Schedule, type StoreKind } from "./schedule.js";

type Drill = Pick<Schedule, "operations" | "faults"> & Partial<Pick<Schedule, "settleMs">>;

const STALE = (random: Random): Drill => wakeToWorkThatOthersDo(random.between(0, 60));

const DRILLS: Readonly<Record<BrokenName, (random: Random) => Drill>> = {
  "fencing-off": STALE,
  "compare-and-set-off": STALE,
  "ends-not-final": STALE,
  "create-not-atomic": keysAtTwoProcesses,
  "create-not-durable": (random) => killWhoHasJustAcknowledged(random.between(0, 60)),
  "recovers-the-living": longWork,
  "payload-late": looksAsWorkEnds,
  "owners-unchecked": questionsAboutOthers,
  "never-recovers": killWhoWorks,
};

export function drillOf(kind: StoreKind, aimedAt: BrokenName, seed: number): Schedule {
  const nodes = nodesOn(kind);
  const { operations, faults, settleMs = 30_000 } = DRILLS[aimedAt](new Random(seed));
  const somewhere = <T extends object>(each: T): T =>
    "node" in each ? { ...each, node: Number(each.node) % nodes } : each;
  return { kind, seed, nodes, operations: operations.map(somewhere), faults: faults.map(somewhere), settleMs };
}

// --- the drills ------------------------------------------------------------------------------------------------------

/**
 * Two processes stop for longer than a lease while their work is about to end, and wake while a third one does it again.
 * What ends at once when they wake has not heard yet that it is somebody else's: so many tasks, each about to end a moment
 * after the one before.
 */
function wakeToWorkThatOthersDo(laterMs: number): Drill {
  const runMs = 2 * LEASE_MS;
  const pausedAt = runMs + 150 + laterMs;
  // The others have it a lease after it was last renewed, and are at it for as long as it takes.
  const forMs = 1.5 * LEASE_MS;
  return {
    operations: times(24, (n) => create(n, { atMs: 24 * n, node: n % 2, tool: "again", runMs })),
    faults: [
      { kind: "pause", node: 0, atMs: pausedAt, forMs },
      { kind: "pause", node: 1, atMs: pausedAt + 40, forMs },
    ],
  };
}

function keysAtTwoProcesses(): Drill {
  const keyed = (n: number): Operation => {
    const made = create(n, { atMs: 60 * n, node: n % 3, tool: "again", runMs: 100 });
    return { ...made, key: `key ${n}`, alsoAt: (n + 1) % 3 };
  };
  return { operations: times(24, keyed), faults: [] };
}

function killWhoHasJustAcknowledged(laterMs: number): Drill {
  return {
    operations: times(90, (n) => create(n, { atMs: 20 * n, node: n % 3, tool: "again", runMs: 50 })),
    faults: [0, 1, 2].map((node) => ({ kind: "kill", node, atMs: 900 + 250 * node + laterMs, forMs: 50 })),
  };
}

/** For longer than a process waits before it looks at what others do. */
function longWork(): Drill {
  const tools = ["once", "again"] as const;
  return {
    operations: times(8, (n) =>
      create(n, { atMs: 200 * n, node: n % 3, tool: tools[n % 2] ?? "once", runMs: LEASE_MS }),
    ),
    faults: [],
  };
}

function looksAsWorkEnds(): Drill {
  const looks = (from: number): Operation[] =>
    times(80, (n) => ({ kind: "get", ...where(n, from + 10 * n, (n % 2) + 1), era: "2026", task: (n % 7) / 7 }));
  const waves = [0, 900, 1800];
  const work = waves.flatMap((atMs, wave) =>
    times(6, (n) => create(6 * wave + n, { atMs, node: 0, tool: "once", runMs: 400 })),
  );
  return { operations: [...work, ...waves.flatMap((atMs) => looks(atMs + 300))], faults: [] };
}

function questionsAboutOthers(): Drill {
  const asks = times(6, (n): Operation => ({ kind: "snoop", ...where(n, 500 + 50 * n, n % 3), task: n / 6 }));
  const work = times(6, (n) => create(n, { atMs: 0, node: n % 3, tool: "once", runMs: 200 }));
  return { operations: [...work, ...asks], faults: [] };
}

function killWhoWorks(): Drill {
  return {
    operations: times(6, (n) => create(n, { atMs: 0, node: 0, tool: n % 2 === 0 ? "once" : "again", runMs: LEASE_MS })),
    faults: [{ kind: "kill", node: 0, atMs: LEASE_MS / 2, forMs: 50 }],
    // Three times what it takes a sound runtime: a lease, and a look.
    settleMs: 4 * LEASE_MS,
  };
}

// --- what they are made of -------------------------------------------------------------------------------------------

function times<T>(howMany: number, make: (n: number) => T): T[] {
  return Array.from({ length: howMany }, (_, n) => make(n));
}

function where(n: number, atMs: number, node: number): Pick<Operation, "atMs" | "client" | "node" | "era"> {
  return { atMs, client: n % CLIENTS, node, era: n % 2 === 0 ? "2025" : "2026" };
}

function create(
  n: number,
  { atMs, node, tool, runMs }: Pick<Create, "atMs" | "node" | "tool"> & { runMs: number },
): Create {
  const work = { call: `call ${n}`, runMs, end: "return", asks: false, deaf: false } as const;
  return { kind: "create", ...where(n, atMs, node), tool, work };
}
