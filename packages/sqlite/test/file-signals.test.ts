import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import { FileSignals } from "../src/file-signals.js";

function setUp() {
  const clock = new FakeClock();
  const file = { version: 1, looks: 0 };
  const signals = new FileSignals(clock, 50, () => {
    file.looks += 1;
    return file.version;
  });
  return { clock, file, signals, heard: [] as (string | null)[] };
}

describe("signals of a file", () => {
  test("nothing is looked at while nobody listens", async () => {
    const { clock, file, signals } = setUp();
    expect(clock.pending).toBe(0);
    signals.subscribe(() => {})();
    expect(clock.pending).toBe(0);
    const looks = file.looks;
    await clock.advance(1_000);
    expect(file.looks).toBe(looks);
  });

  test("another process's change is heard within the interval, once", async () => {
    const { clock, file, signals, heard } = setUp();
    signals.subscribe((taskId) => heard.push(taskId));
    await clock.advance(500);
    expect(heard).toEqual([]);
    file.version = 2;
    await clock.advance(50);
    expect(heard).toEqual([null]);
    await clock.advance(500);
    expect(heard).toEqual([null]);
  });

  test("what changed before a subscription is not heard", async () => {
    const { clock, file, signals, heard } = setUp();
    signals.subscribe(() => {})();
    file.version = 2;
    signals.subscribe((taskId) => heard.push(taskId));
    await clock.advance(100);
    expect(heard).toEqual([]);
  });

  test("a change of this process is heard at once, by its id", async () => {
    const { signals, heard } = setUp();
    signals.subscribe((taskId) => heard.push(taskId));
    signals.publish("tsk_1");
    expect(heard).toEqual([]);
    await settle();
    expect(heard).toEqual(["tsk_1"]);
  });

  test("one interval serves all listeners, and ends with the last", () => {
    const { clock, signals } = setUp();
    const stops = [signals.subscribe(() => {}), signals.subscribe(() => {})];
    expect(clock.pending).toBe(1);
    stops[0]?.();
    stops[0]?.();
    expect(clock.pending).toBe(1);
    stops[1]?.();
    expect(clock.pending).toBe(0);
  });

  test("a listener that stops listening while it is called is not called again", async () => {
    const { signals, heard } = setUp();
    const stop = signals.subscribe((taskId) => {
      heard.push(taskId);
      stop();
    });
    signals.publish("tsk_1");
    signals.publish("tsk_2");
    await settle();
    expect(heard).toEqual(["tsk_1"]);
  });
});
