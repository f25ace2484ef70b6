import type { JsonValue } from "@claimcheck/core";
import { expect, it } from "vitest";
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
  nested.data.text.push("two");
  expect(outputs.changesTo([growing, nested])).toEqual({ from: 1, outputs: [nested] });
});

it("an array is not an object of the same members, nor is one with a member less", () => {
  expect(said([["a"]], [{ 0: "a" }], [{}], [{ a: null }], [null])).toEqual([1, 1, 1, 1, 1]);
});
