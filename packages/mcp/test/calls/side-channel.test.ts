import { describe, expect, it } from "vitest";
import { SideChannel } from "../../src/calls/side-channel.js";
import { core20251125 } from "../../src/dialects/core-2025-11-25.js";
import type { Connection } from "../../src/wire/connection.js";
import { completed, RESULT, working } from "../dialects/records.js";

function channel() {
  const sent: unknown[][] = [];
  const connection = { isClosed: false, logLevel: "debug", notify: (...args: unknown[]) => sent.push(args) > 0 };
  const intent = { dialect: core20251125, era: "2025", arguments: {}, ttl: undefined, progressToken: 0 } as const;
  const made = new SideChannel(connection as unknown as Connection, 1, intent, () => 0);
  return { channel: made, connection, methods: () => sent.map(([, method]) => method) };
}

const progress = (current: number) => ({ type: "progress", taskId: "tsk_1", progress: { current } }) as const;
const changed = (task: ReturnType<typeof working>) => ({ type: "changed", task }) as const;

describe("what happens before the claim check is out", () => {
  it("is held back, and told in its order afterwards", () => {
    const { channel: held, methods } = channel();
    held.watcher(progress(1));
    held.watcher(changed(completed(RESULT)));
    expect(methods()).toEqual([]);
    held.release();
    expect(methods()).toEqual(["notifications/progress", "notifications/tasks/status"]);
  });

  it("is so many messages at most, and the tool is told of the others; the status is not left out", () => {
    const { channel: held, methods } = channel();
    const log = { type: "log", taskId: "tsk_1", message: { level: "info", data: "x" } } as const;
    const told = Array.from({ length: 1001 }, () => held.watcher(log));
    expect([told.filter((isTold) => isTold).length, told.at(-1)]).toEqual([1000, false]);
    held.watcher(changed(completed(RESULT)));
    held.release();
    expect(methods()).toHaveLength(1001);
    expect(methods().at(-1)).toBe("notifications/tasks/status");
  });
});

it("what changes nothing that a client sees is not told: output and leases move on in silence", () => {
  const { channel: open, methods } = channel();
  open.release();
  open.watcher(changed(working({ partialOutput: ["x"], version: 2 })));
  open.watcher(changed(working({ statusMessage: "one foot", version: 3 })));
  open.watcher(changed(working({ statusMessage: "one foot", version: 4 })));
  expect(methods()).toEqual(["notifications/tasks/status"]);
});

it("nothing is told after the end, nor to a connection that has closed", () => {
  const { channel: open, connection, methods } = channel();
  open.release();
  open.watcher(changed(completed(RESULT)));
  open.watcher(progress(5));
  expect(methods()).toEqual(["notifications/tasks/status"]);
  const { channel: other, connection: gone, methods: told } = channel();
  other.release();
  gone.isClosed = true;
  other.watcher(progress(1));
  expect(told()).toEqual([]);
  expect(connection.isClosed).toBe(false);
});
