/** What a seed stands for: who asks what, and what breaks, when. The same seed is the same schedule. */
import { Random } from "./random.js";

export const STORE_KINDS = ["memory", "sqlite", "postgres", "redis"] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/** After how long without a sign of life a process counts as lost. Short, so that a seed takes seconds. */
export const LEASE_MS = 1200;
/** For how long operations and faults begin. */
const SPAN_MS = 2400;
/** How long after everything works again clients wait for tasks to end: many times what it takes on an idle machine. */
const SETTLE_MS = 60_000;
/** How many clients there are; each is an owner of its own. */
export const CLIENTS = 3;
const KEYS_OF_A_CLIENT = 4;

/** What a tool is to do, as its arguments say it. */
export interface Work {
  /** Names the call: calls with one idempotency key have one, others have one each. */
  call: string;
  runMs: number;
  end: "return" | "throw";
  asks: boolean;
  /** Does not listen when it is told to stop. */
  deaf: boolean;
}

/** By recovery policy: run once at the most; run again from the start; go on from the last checkpoint. */
export const TOOLS = { once: "fail", again: "retry", onward: "resume" } as const;
export type ToolName = keyof typeof TOOLS;

/** `task` picks among the tasks that the client knows of by then: 0 the first, nearly 1 the last. */
export type Operation = { atMs: number; client: number; node: number; era: "2025" | "2026" } & (
  | { kind: "create"; tool: ToolName; work: Work; key?: string; alsoAt?: number }
  | { kind: "get" | "result" | "cancel" | "answer"; task: number }
  | { kind: "list" }
  /** Asks for another owner's task, by every method. */
  | { kind: "snoop"; task: number }
);
export type Create = Extract<Operation, { kind: "create" }>;

/**
 * - `kill`: SIGKILL, and a new process in its place after `forMs`. `leave`: the same in good order.
 * - `pause`: stopped and continued. `throttle`: stopped and continued again and again.
 * - Between one process and its server: `drop` swallows, then cuts; `stall` holds back, `slow` delays, `cut` resets.
 * - `lock`: somebody holds the file's write lock. `restart`: the server crashes and comes back.
 */
export type Fault =
  | (Span & { kind: "kill" | "leave" | "pause" | "throttle" | "drop" | "stall" | "slow" | "cut"; node: number })
  | (Span & { kind: "lock" | "restart" });
interface Span {
  atMs: number;
  forMs: number;
}
export type FaultAtNode = Extract<Fault, { node: number }>;
export type FaultKind = Fault["kind"];

export interface Schedule {
  kind: StoreKind;
  seed: number;
  nodes: number;
  operations: Operation[];
  faults: Fault[];
  /** How long after everything works again clients wait for tasks to end. */
  settleMs: number;
}

/** How many processes there are on a store. */
export function nodesOn(kind: StoreKind): number {
  return kind === "memory" ? 1 : 3;
}

const PROCESS_FAULTS = { kill: 4, leave: 1, pause: 4, throttle: 1 };
const NETWORK_FAULTS = { ...PROCESS_FAULTS, drop: 2, stall: 2, slow: 1, cut: 2, restart: 1 };

/** What can break, and how often each does beside the others. Tasks in memory end with their process, so that is not ended. */
const FAULTS: Readonly<Record<StoreKind, Partial<Record<FaultKind, number>>>> = {
  memory: { pause: 1, throttle: 1 },
  sqlite: { ...PROCESS_FAULTS, lock: 3 },
  postgres: NETWORK_FAULTS,
  redis: NETWORK_FAULTS,
};

/** How long each lasts, ms. Some pauses and partitions are longer than a lease, some are not. */
const LASTS: Readonly<Record<FaultKind, readonly [from: number, to: number]>> = {
  kill: [50, 1000],
  leave: [50, 500],
  pause: [200, 2 * LEASE_MS],
  throttle: [300, 1500],
  drop: [200, 2 * LEASE_MS],
  stall: [200, 2 * LEASE_MS],
  slow: [300, 1500],
  cut: [0, 0],
  lock: [100, 1000],
  restart: [0, 300],
};

const OPERATIONS = { create: 8, get: 6, result: 4, cancel: 3, answer: 3, list: 2, snoop: 2 };

export function scheduleOf(kind: StoreKind, seed: number): Schedule {
  const random = new Random(seed);
  const nodes = nodesOn(kind);
  const operations = Array.from({ length: random.between(40, 70) }, (_, n) => operation(random, nodes, n));
  const faults = Array.from({ length: random.between(2, 5) }, () => fault(random, kind, nodes));
  for (const timed of [operations, faults]) timed.sort((a, b) => a.atMs - b.atMs);
  return { kind, seed, nodes, operations, faults, settleMs: SETTLE_MS };
}

function operation(random: Random, nodes: number, n: number): Operation {
  const where = {
    atMs: random.between(0, SPAN_MS),
    client: random.between(0, CLIENTS - 1),
    node: random.between(0, nodes - 1),
    era: random.chance(0.5) ? "2025" : "2026",
  } as const;
  const kind = random.pick(OPERATIONS);
  if (kind === "create") return { ...where, kind, ...creation(random, nodes, n) };
  if (kind === "list") return { ...where, kind };
  return { ...where, kind, task: random.next() };
}

function creation(random: Random, nodes: number, n: number): Omit<Create, "kind" | "atMs" | "client" | "node" | "era"> {
  const tool = random.pick({ once: 3, again: 3, onward: 2 });
  const work: Work = {
    call: `call ${n}`,
    runMs: random.between(0, random.chance(0.2) ? 1500 : 400),
    end: random.chance(0.85) ? "return" : "throw",
    asks: random.chance(0.15),
    deaf: random.chance(0.1),
  };
  if (random.chance(0.4)) return { tool, work };
  // Few keys, and the same ones for every owner: they meet. What a key names must be the same call each time.
  const key = random.between(1, KEYS_OF_A_CLIENT);
  const keyed = { tool: keyedTool(key), key: `key ${key}`, work: { ...keyedWork(key), call: `key ${key}` } };
  return random.chance(0.5) ? { ...keyed, alsoAt: random.between(0, nodes - 1) } : keyed;
}

const keyedTool = (key: number): ToolName => (["once", "again", "onward"] as const)[key % 3] ?? "once";
const keyedWork = (key: number): Omit<Work, "call"> => ({ runMs: 150 * key, end: "return", asks: false, deaf: false });

function fault(random: Random, store: StoreKind, nodes: number): Fault {
  const fault = random.pick(FAULTS[store] as Record<FaultKind, number>);
  const atMs = random.between(100, SPAN_MS - 400);
  const forMs = random.between(...LASTS[fault]);
  if (fault === "lock" || fault === "restart") return { kind: fault, atMs, forMs };
  return { kind: fault, node: random.between(0, nodes - 1), atMs, forMs };
}
