import type { JsonValue } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { SaidOutputs } from "../../src/runners/output-changes.js";

/** What the other side has after each list was said, and how many outputs were sent for it. */
function said(...lists: JsonValue[][]) {
  const outputs = new SaidOutputs();
  let has: JsonValue[] = [];
  return lists.map((list) => {
    const { from, outputs: sent } = outputs.changesTo(list);
    has = structuredClone([...has.slice(0, from), ...sent]);
    expect(has).toEqual(list);
    return sent.length;
  });
}

it("of a list that grows only what is new is sent", () => {
  expect(said(["a"], ["a", "b"], ["a", "b"], ["a", "b", "c", "d"])).toEqual([1, 1, 0, 2]);
  const block = (text: string) => ({ type: "text", text });
  expect(said([block("a")], [block("a"), block("b")])).toEqual([1, 1]);
});

it("a list that was replaced or emptied is the whole of what is said", () => {
  expect(said(["a", "b"], ["x"], [], ["a"])).toEqual([2, 1, 0, 1]);
  expect(said(["a", "b", "c"], ["a", "x", "c"])).toEqual([3, 2]);
});

it("an output that its tool has written into is sent again", () => {
  const outputs = new SaidOutputs();
  const growing = { type: "text", text: "one" };
  const nested = { data: { text: ["one"] } };
  outputs.changesTo([growing, nested]);
  growing.text += " two";
  expect(outputs.changesTo([growing, nested])).toEqual({ from: 0, outputs: [growing, nested] });
  expect(outputs.changesTo([growing, nested])).toEqual({ from: 2, outputs: [] });
  nested.data.text.push("two");
  expect(outputs.changesTo([growing, nested])).toEqual({ from: 1, outputs: [nested] });
});

it("an array is not an object of the same members, nor is one with a member less", () => {
  expect(said([["a"]], [{ 0: "a" }], [{}], [{ a: null }], [null])).toEqual([1, 1, 1, 1, 1]);
});

it("what is not a text is none of the texts that say the same", () => {
  expect(said([{ a: 1 }], ['{"a":1}'], [{ a: 1 }], ["null"], [null])).toEqual([1, 1, 1, 1, 1]);
});

it("what no JSON can say is sent every time", () => {
  const outputs = new SaidOutputs();
  const ring: { ring?: unknown } = {};
  ring.ring = ring;
  for (let times = 0; times < 2; times += 1) expect(outputs.changesTo([ring as never]).outputs).toEqual([ring]);
});

describe("of a long list", () => {
  const list = () => Array.from({ length: 1000 }, (_, n) => ({ type: "text", text: `line ${n}` }));

  /** Says a list, by a clock that moves by a millisecond with every look at it. */
  function clocked() {
    let now = 0;
    const outputs = new SaidOutputs(() => now++);
    const pass = (ms: number): void => {
      now += ms;
    };
    return { outputs, pass };
  }

  it("what was written into long ago is sent when it is time for another look, and what is new at once", () => {
    const { outputs, pass } = clocked();
    const lines = list();
    outputs.changesTo(lines);
    (lines[1] as { text: string }).text = "other";
    lines.push({ type: "text", text: "new" });
    expect(outputs.changesTo(lines)).toEqual({ from: 1000, outputs: lines.slice(1000) });
    expect(outputs.isBehind).toBe(true);
    pass(1000);
    expect(outputs.changesTo(lines).from).toBe(1);
    expect(outputs.isBehind).toBe(false);
  });

  it("all is looked at when that is asked for", () => {
    const { outputs } = clocked();
    const lines = list();
    outputs.changesTo(lines);
    (lines[1] as { text: string }).text = "other";
    expect(outputs.changesTo(lines).from).toBe(1000);
    expect(outputs.changesTo(lines, true).from).toBe(1);
  });

  it("a shorter one says where it ends", () => {
    const { outputs } = clocked();
    const lines = list();
    outputs.changesTo(lines);
    expect(outputs.changesTo(lines.slice(0, 500))).toEqual({ from: 500, outputs: [] });
    expect(outputs.changesTo([])).toEqual({ from: 0, outputs: [] });
  });
});
