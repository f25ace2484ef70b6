import { describe, expect, it } from "vitest";
import { check, type Rule } from "./checker.js";
import type { Exchange, History, JournalLine, Reply, Start } from "./history.js";
import { LEASE_MS, scheduleOf, type ToolName } from "./schedule.js";

const OWNER = JSON.stringify(["principal", null, "seed-1-client-0", "chaos"]);
const WORK = { call: "call 1", runMs: 10, end: "return", asks: false, deaf: false } as const;
const HEALED_AT = 10_000;
const SETTLED_AT = 12_000;

const ask = (over: Partial<Exchange>): Exchange => ({
  ...{ client: 0, node: 0, era: "2026", method: "tasks/get", params: { taskId: "t" }, sentAt: 100, endedAt: 110 },
  ...over,
});
const at = (sentAt: number): Pick<Exchange, "sentAt" | "endedAt"> => ({ sentAt, endedAt: sentAt + 10 });

const result = (run: string, epoch: number, word?: string) => ({
  content: [{ type: "text", text: run }],
  structuredContent: { run, epoch, call: "call 1", ...(word !== undefined && { word }) },
});
const isoAt = (ms: number): string => new Date(ms).toISOString();
const live = (): Reply => ({ result: { taskId: "t", status: "working", lastUpdatedAt: isoAt(10) } });
const done = (run = "1.1", epoch = 1, endedAt = 500): Reply => ({
  result: { taskId: "t", status: "completed", lastUpdatedAt: isoAt(endedAt), result: result(run, epoch) },
});
const ended = (status: string, more: object = {}): Reply => ({
  result: { taskId: "t", status, lastUpdatedAt: isoAt(500), ...more },
});
const noSuchTask: Reply = { error: { code: -32602, message: "No such task." } };

const start = (over: Partial<Start> = {}): Start => ({
  ...{ at: 120, node: 0, pid: 1, event: "start", run: "1.1", taskId: "t", epoch: 1 },
  ...{ owner: OWNER, tool: "once", work: WORK },
  ...over,
});
const end = (run: string, how: "returned" | "threw" = "returned"): JournalLine => ({
  ...{ at: 490, node: 0, pid: 1, event: "end", taskId: "t" },
  run,
  how,
});

/** A task that was created, ran, and was seen working, done, and in the listing. */
function sound(tool: ToolName = "once"): History {
  return {
    schedule: scheduleOf("sqlite", 1),
    beganAt: 0,
    healedAt: HEALED_AT,
    settledAt: SETTLED_AT,
    exchanges: [
      ask({ method: "tools/call", params: { name: tool }, reply: live() }),
      ask({ ...at(200), reply: live() }),
      ask({ ...at(600), reply: done() }),
      ask({ ...at(SETTLED_AT + 1), method: "tasks/list", params: {}, era: "2025", reply: listing() }),
    ],
    creations: [{ client: 0, tool, work: WORK, acknowledged: [{ taskId: "t", at: 110 }] }],
    journal: [start({ tool }), end("1.1")],
    disturbances: [],
    crashes: [],
  };
}

const listing = (status = "completed"): Reply => ({
  result: { tasks: [{ taskId: "t", status, lastUpdatedAt: isoAt(500) }] },
});

/** Of the tool that may run again: taken up by another process, which brought the result. */
function takenUp(kind: string): History {
  const history = sound("again");
  history.journal = [
    start({ tool: "again" }),
    start({ tool: "again", run: "2.1", node: 1, pid: 2, epoch: 2, at: 2000 }),
    end("2.1"),
  ];
  history.exchanges[2] = ask({ ...at(2600), reply: done("2.1", 2) });
  history.disturbances = [{ kind, node: 0, fromAt: 150, untilAt: 5000 }];
  return history;
}

const rulesOf = (history: History): Rule[] => [...new Set(check(history).map(({ rule }) => rule))];

describe("a history is sound", () => {
  it("when a task ran once and everybody saw what it came to", () => expect(check(sound())).toEqual([]));

  it("when a task was taken from a process that was paused", () => expect(check(takenUp("pause"))).toEqual([]));

  it("when a failed task's result has what was kept of its output, whichever generation is answered", () => {
    const history = sound();
    const content = [{ type: "text", text: "half" }];
    const result = { content, isError: true, _meta: { "io.datalayer/partial-output": true } };
    history.exchanges[2] = ask({ ...at(600), reply: ended("completed", { result }) });
    history.exchanges.push(ask({ ...at(700), method: "tasks/result", era: "2025", reply: { result } }));
    (history.exchanges[3] as Exchange).reply = listing("failed");
    expect(check(history)).toEqual([]);
  });

  it("when a process could not reach its store for a listing at the end", () => {
    const history = sound();
    const reply = { error: { code: -32603, message: "The store gave no answer." } };
    history.exchanges.push(ask({ ...at(SETTLED_AT + 20), method: "tasks/list", params: {}, era: "2025", reply }));
    expect(check(history)).toEqual([]);
  });

  it("when the store was out and requests got no answer", () => {
    const history = sound();
    history.exchanges.push(ask({ ...at(300), failed: "no answer" }));
    history.exchanges.push(ask({ ...at(320), reply: { error: { code: -32603, message: "Internal error" } } }));
    expect(check(history)).toEqual([]);
  });

  it("when a task was cancelled as its owner asked", () => {
    const history = sound();
    history.journal.pop();
    history.exchanges[2] = ask({ ...at(450), method: "tasks/cancel", reply: { result: { resultType: "complete" } } });
    history.exchanges[3] = ask({ ...at(600), reply: ended("cancelled") });
    expect(check(history)).toEqual([]);
  });
});

/** By what is wrong with it: a change that makes a sound history unsound, and the rule that it breaks. */
const UNSOUND: Readonly<Record<string, [Rule, () => History]>> = {
  "an acknowledged task is not found": ["task-lost", () => withExchange(ask({ ...at(700), reply: noSuchTask }))],
  "an acknowledged task is not listed": [
    "task-lost",
    () =>
      withExchange(ask({ ...at(SETTLED_AT + 2), method: "tasks/list", params: {}, reply: { result: { tasks: [] } } })),
  ],
  "a task never ends": ["stuck", () => changed((history) => history.exchanges.splice(2))],
  "a retried call is never acknowledged": [
    "stuck",
    () =>
      changed(({ creations }) => creations.push({ client: 1, tool: "once", work: WORK, key: "k", acknowledged: [] })),
  ],
  "a task whose process was killed ends long after two leases": [
    "recovered-late",
    () =>
      changed((history) => {
        history.journal.push({ at: 900, node: 0, pid: 9, event: "opened" });
        history.exchanges[2] = ask({
          ...at(history.schedule.settleMs),
          reply: done("1.1", 1, HEALED_AT + 5 * LEASE_MS),
        });
        history.exchanges.pop();
      }),
  ],
  "a tool that may not run again does": [
    "run-again",
    () => changed((history) => history.journal.push(start({ run: "2.1", node: 1, epoch: 2, at: 300 }))),
  ],
  "two runs have one lease": [
    "run-again",
    () => changed((history) => history.journal.push(start({ run: "2.1", node: 1, tool: "again" })), takenUp("kill")),
  ],
  "a task is taken from a process that is well": [
    "living-peer-robbed",
    () => changed((history) => history.disturbances.pop(), takenUp("pause")),
  ],
  "a task ends as lost whose process is well": [
    "living-peer-robbed",
    () => {
      const text = "The process that ran this task was lost before the work ended";
      const lost = { content: [{ type: "text", text }], isError: true };
      return changed((history) => {
        history.exchanges.splice(2, 2, ask({ ...at(600), reply: ended("completed", { result: lost }) }));
      });
    },
  ],
  "the result is that of a run whose lease was lost": [
    "stale-outcome",
    () =>
      changed((history) => {
        history.exchanges[2] = ask({ ...at(2600), reply: done() });
        history.journal.push(end("1.1"));
      }, takenUp("pause")),
  ],
  "the result is that of a run that did not return": [
    "stale-outcome",
    () => changed(({ journal }) => journal.splice(1, 1, end("1.1", "threw"))),
  ],
  "a task that had ended is alive": ["end-changed", () => withExchange(ask({ ...at(700), reply: live() }))],
  "a task ends twice": ["end-changed", () => withExchange(ask({ ...at(700), reply: ended("cancelled") }))],
  "a task's end moves": ["end-changed", () => withExchange(ask({ ...at(700), reply: done("1.1", 1, 650) }))],
  "a result is seen before the end": [
    "payload-and-status",
    () => withExchange(ask({ ...at(300), reply: ended("working", { result: result("1.1", 1) }) })),
  ],
  "an end is seen without its result": [
    "payload-and-status",
    () => withExchange(ask({ ...at(700), reply: ended("failed") })),
  ],
  "a client sees another's task": [
    "foreign-task-seen",
    () => withExchange(ask({ ...at(700), client: 1, reply: done() })),
  ],
  "a client cancels another's task": [
    "foreign-task-seen",
    () => withExchange(ask({ ...at(50), client: 1, method: "tasks/cancel", reply: { result: {} } })),
  ],
  "a client lists another's task": [
    "foreign-task-seen",
    () => withExchange(ask({ ...at(700), client: 1, method: "tasks/list", params: {}, reply: listing() })),
  ],
  "a client is told more of another's task than that there is none": [
    "foreign-task-seen",
    () => withExchange(ask({ ...at(700), client: 1, reply: { error: { code: -32602, message: "Not yours." } } })),
  ],
  "one key makes two tasks": [
    "key-made-two",
    () => changed(({ creations }) => creations[0]?.acknowledged.push({ taskId: "u", at: 130 })),
  ],
  "one key makes two tasks, of which one was never acknowledged": [
    "key-made-two",
    () => changed(({ journal }) => journal.push(start({ run: "1.2", taskId: "u" }))),
  ],
  "a task is cancelled that nobody asked to cancel": [
    "cancelled-unasked",
    () => changed((history) => history.exchanges.splice(2, 2, ask({ ...at(600), reply: ended("cancelled") }))),
  ],
  "a task goes on after its cancellation was answered": [
    "cancel-not-kept",
    () => withExchange(ask({ ...at(150), method: "tasks/cancel", reply: { result: {} } })),
  ],
  "a tool is told what nobody answered": [
    "answer-not-kept",
    () =>
      changed((history) => {
        const told = ended("completed", { result: result("1.1", 1, "word 7") });
        history.exchanges.splice(2, 2, ask({ ...at(600), reply: told }));
      }),
  ],
  "a run goes on from before the last checkpoint that was kept": [
    "checkpoint-lost",
    () =>
      changed((history) => {
        for (const line of history.journal) if (line.event === "start") line.tool = "onward";
        history.journal.push({ at: 400, node: 0, pid: 1, event: "checkpoint", run: "1.1", taskId: "t", step: 2 });
      }, takenUp("kill")),
  ],
  "a process ends by itself": [
    "process-crashed",
    () => changed((history) => history.crashes.push({ node: 0, at: 1, how: "exit code 1" })),
  ],
};

describe("a history is not sound when", () => {
  it.each(Object.entries(UNSOUND))("%s", (_, [rule, history]) => expect(rulesOf(history())).toContain(rule));
});

function changed(change: (history: History) => unknown, history = sound()): History {
  change(history);
  return history;
}

function withExchange(exchange: Exchange): History {
  return changed(({ exchanges }) => exchanges.push(exchange));
}
