/** A history as a person reads it: what happened, in order, beside what broke. */
import type { Violation } from "./checker.js";
import type { Exchange, History, JournalLine } from "./history.js";
import { sightingsIn } from "./sighting.js";

/** The violations, then everything that has to do with their tasks, and every fault. */
export function timelineOf(history: History, violations: readonly Violation[]): string {
  const { schedule, beganAt, healedAt, settledAt } = history;
  const concerned = new Set(violations.map(({ taskId }) => taskId).filter((taskId) => taskId !== undefined));
  const isOfConcern = (...ids: unknown[]): boolean =>
    concerned.size === 0 || ids.some((id) => concerned.has(String(id)));
  const lines: [at: number, text: string][] = [
    [healedAt, "--- everything works again"],
    [settledAt, "--- only looking from here on"],
    ...history.disturbances.flatMap(({ kind, node, fromAt, untilAt }): [number, string][] => [
      [fromAt, `fault ${kind}${node === undefined ? "" : ` at ${node}`} begins`],
      [untilAt, `fault ${kind}${node === undefined ? "" : ` at ${node}`} is over`],
    ]),
    ...history.crashes.map(({ node, at, how }): [number, string] => [at, `PROCESS ${node} CRASHED: ${how}`]),
    ...history.journal
      .filter((line) => line.event === "late" || line.event === "opened" || isOfConcern(line.taskId))
      .map((line): [number, string] => [line.at, journalText(line)]),
    ...history.exchanges
      .filter((each) => isOfConcern(each.params.taskId, ...sightingsIn(each).map(({ taskId }) => taskId)))
      .flatMap(exchangeLines),
  ];
  lines.sort(([a], [b]) => a - b);
  return [
    `store ${schedule.kind}, seed ${schedule.seed}`,
    ...violations.map(
      ({ rule, taskId, what }) => `VIOLATION ${rule}${taskId === undefined ? "" : ` ${taskId}`}: ${what}`,
    ),
    ...lines.map(([at, text]) => `${String(at - beganAt).padStart(6)} ms  ${text}`),
  ].join("\n");
}

function journalText({ node, pid, ...line }: JournalLine): string {
  const { at: _at, event, ...rest } = line;
  return `  process ${node} (${pid}) ${event} ${JSON.stringify(rest)}`;
}

function exchangeLines(exchange: Exchange): [number, string][] {
  const { client, node, era, method, params, sentAt, endedAt, reply, failed } = exchange;
  const what = `client ${client} to process ${node}, ${era} ${method}`;
  const { taskId, name } = params;
  const answer = failed ?? JSON.stringify(reply);
  return [
    [sentAt, `${what} ${String(taskId ?? name ?? "")}`],
    [endedAt, `${what} ${String(taskId ?? name ?? "")} → ${answer.slice(0, 400)}`],
  ];
}
