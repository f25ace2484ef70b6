import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import type { CellKey, CellOutput, RunRecord, SaveOutcome } from "../../src/notebook/index.js";
import { CellSaver } from "../../src/tools/save-cell.js";

const KEY: CellKey = { id: "a", index: 0, source: "", otherIds: [] };
const SAVED = {
  saved: true,
  index: 0,
  id: "a",
  update: { notebook: {}, repairs: [], warnings: [] },
} as unknown as SaveOutcome;
const GONE: SaveOutcome = { saved: false, reason: "cell_deleted", message: "It was deleted." };

function record(...texts: string[]): RunRecord {
  return {
    outputs: texts.map((text): CellOutput => ({ output_type: "stream", name: "stdout", text })),
    executionCount: 1,
  };
}

function saver(live: boolean, save: () => Promise<SaveOutcome> = async () => SAVED) {
  const clock = new FakeClock(0);
  const writes: string[] = [];
  const warnings: object[] = [];
  const silent = (): void => {};
  const files = {
    saveRun: (_path: string, _key: CellKey, { outputs }: RunRecord) => {
      writes.push(outputs.map((output) => ("text" in output ? output.text : "")).join(""));
      return save();
    },
  };
  const logger = { debug: silent, info: silent, error: silent, warn: (fields: object) => void warnings.push(fields) };
  return { clock, writes, warnings, it: new CellSaver({ files, path: "a.ipynb", key: KEY, live, clock, logger }) };
}

describe("a live cell", () => {
  test("that is over soon is written once", async () => {
    const { clock, writes, it } = saver(true);
    it.begin();
    it.update(record("a"));
    await clock.advance(400);
    expect(await it.finish(record("a", "b"))).toEqual(SAVED);
    await clock.advance(60_000);
    expect(writes).toEqual(["ab"]);
    expect(clock.pending).toBe(0);
  });

  test("that runs on shows at first that what a former run left is not its output", async () => {
    const { clock, writes, it } = saver(true);
    it.begin();
    await clock.advance(500);
    expect(writes).toEqual([""]);
  });

  test("is written at most once a second while outputs pour in, and with all of them at the end", async () => {
    const { clock, writes, it } = saver(true);
    it.begin();
    for (let count = 0; count < 300; count++) {
      it.update(record(String(count)));
      await clock.advance(10);
    }
    expect(writes.length).toBeGreaterThan(1);
    expect(writes.length).toBeLessThan(5);
    await it.finish(record("all"));
    expect(writes.at(-1)).toBe("all");
  });

  test("whose write fails is written again, and at the end in any case", async () => {
    const { clock, writes, warnings, it } = saver(true, async () => {
      if (writes.length < 3) throw new Error("disk full");
      return SAVED;
    });
    it.begin();
    it.update(record("a"));
    await clock.advance(600);
    it.update(record("b"));
    await clock.advance(2_000);
    expect(warnings).toHaveLength(2);
    expect(await it.finish(record("c"))).toEqual(SAVED);
    expect(writes).toEqual(["a", "b", "c"]);
  });
});

test("a cell that is not live is written at its end only", async () => {
  const { clock, writes, it } = saver(false);
  it.begin();
  it.update(record("a"));
  await clock.advance(60_000);
  expect(writes).toEqual([]);
  await it.finish(record("b"));
  expect(writes).toEqual(["b"]);
});

test("where outputs could not go is told and not thrown", async () => {
  expect(await saver(true, async () => GONE).it.finish(record("a"))).toEqual(GONE);
  const { it, warnings } = saver(true, () => Promise.reject(new Error("disk full")));
  expect(await it.finish(record("a"))).toEqual({
    saved: false,
    reason: "failed",
    message: "The outputs could not be saved to a.ipynb: disk full",
  });
  expect(warnings).toEqual([{ path: "a.ipynb", error: "Error: disk full" }]);
});

test("output that comes after the end is added", async () => {
  const { writes, it } = saver(true);
  await it.finish(record("a"));
  await it.amend(record("a", "late"));
  expect(writes).toEqual(["a", "alate"]);
});
