import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { SignalRelay, taskIdsOf } from "../src/signal-relay.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function relayTo(send: (taskIds: string[] | null) => Promise<void>) {
  return new SignalRelay({ send, intervalMs: 50, logger: recordLog() });
}

function recordingRelay() {
  const sent: (string[] | null)[] = [];
  const relay = relayTo(async (taskIds) => void sent.push(taskIds));
  return { relay, sent };
}

test("the first hint goes at once, what follows within the interval goes together", async () => {
  const { relay, sent } = recordingRelay();
  relay.connected();
  relay.publish("a");
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toEqual([["a"]]);
  for (const taskId of ["b", "c", "b"]) relay.publish(taskId);
  await vi.advanceTimersByTimeAsync(45);
  expect(sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent).toEqual([["a"], ["b", "c"]]);
});

test("nothing goes out inside publish", () => {
  const { relay, sent } = recordingRelay();
  relay.connected();
  relay.publish("a");
  expect(sent).toEqual([]);
});

test("what is published while the wire is down is made good by one message when it is back", async () => {
  const { relay, sent } = recordingRelay();
  for (let n = 0; n < 10_000; n += 1) relay.publish(`task ${n}`);
  await vi.advanceTimersByTimeAsync(1000);
  expect(sent).toEqual([]);
  relay.connected();
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toEqual([null]);
});

test("a message that could not be sent is made good", async () => {
  let broken = true;
  const sent: (string[] | null)[] = [];
  const relay = relayTo(async (taskIds) => {
    if (broken) throw new Error("reset");
    sent.push(taskIds);
  });
  relay.connected();
  relay.publish("a");
  await vi.advanceTimersByTimeAsync(1);
  relay.disconnected();
  broken = false;
  relay.connected();
  await vi.advanceTimersByTimeAsync(100);
  expect(sent).toEqual([null]);
});

test("more tasks than are worth naming are one hint that names none", async () => {
  const { relay, sent } = recordingRelay();
  relay.connected();
  for (let n = 0; n < 1001; n += 1) relay.publish(`task ${n}`);
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toEqual([null]);
});

test("listeners look once when the wire is back, as they may have missed something", () => {
  const { relay } = recordingRelay();
  const heard: (string | null)[] = [];
  relay.subscribe((taskId) => heard.push(taskId));
  relay.connected();
  relay.deliver(["a", "b"]);
  expect(heard).toEqual([null, "a", "b"]);
});

test("a listener that throws keeps nothing from the others, and is logged", () => {
  const logger = recordLog();
  const relay = new SignalRelay({ send: async () => {}, intervalMs: 50, logger });
  const heard: (string | null)[] = [];
  relay.subscribe(() => {
    throw new Error("broken listener");
  });
  const stop = relay.subscribe((taskId) => heard.push(taskId));
  relay.deliver(["a"]);
  stop();
  relay.deliver(["b"]);
  expect(heard).toEqual(["a"]);
  expect(logger.lines[0]).toMatchObject({ level: "error", fields: { error: "Error: broken listener" } });
});

test("a message that is no list of task ids says no more than that something changed", () => {
  expect(taskIdsOf('["a","b"]')).toEqual(["a", "b"]);
  for (const message of ["", "null", "{", '"a"', '["a",1]', '{"0":"a"}']) expect(taskIdsOf(message)).toBeNull();
});
