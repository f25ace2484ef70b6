import { beforeEach, expect, it } from "vitest";
import { KeptEvents, MAX_KEPT_BYTES, MAX_KEPT_EVENTS } from "../../src/resumption/kept-events.js";

const [own, call] = [{ name: "own" }, { name: "call" }];
let events: KeptEvents<{ name: string }>;

beforeEach(() => {
  events = new KeptEvents();
});

/** Adds an event, and answers the id that it was given. */
function add(stream: { name: string }, data: string): string {
  const text = Buffer.from(events.add(stream, Buffer.from(`data: ${data}\n\n`))).toString();
  const id = /^id: (.+)\ndata: /.exec(text)?.[1];
  if (id === undefined) throw new Error(`no id in ${text}`);
  return id;
}

function after(id: string): (string | undefined)[] {
  return events.after(id).map((event) => /^data: (.*)$/m.exec(Buffer.from(event).toString())?.[1]);
}

it("gives what followed an event on its own stream, in order, and from a stream's beginning everything", () => {
  const start = events.begin(own);
  events.begin(call);
  const first = add(own, "a");
  const other = add(call, "x");
  add(own, "b");
  add(call, "y");
  add(own, "c");
  expect([after(start), after(first), after(other)]).toEqual([["a", "b", "c"], ["b", "c"], ["y"]]);
  expect([events.streamOf(start), events.streamOf(other)]).toEqual([own, call]);
});

it("knows no id that it has not given", () => {
  const start = events.begin(own);
  add(own, "a");
  for (const id of ["", "0", "__proto__", "own", start.slice(1), `${start} `]) {
    expect(events.streamOf(id)).toBeUndefined();
    expect(events.after(id)).toEqual([]);
  }
});

it("drops the oldest of all streams first, and then knows only the ids after which nothing is missing", () => {
  const start = events.begin(own);
  events.begin(call);
  const [first, second] = [add(own, "a"), add(own, "b")];
  for (let i = 1; i < MAX_KEPT_EVENTS; i += 1) add(call, String(i));
  expect(events.streamOf(start)).toBeUndefined();
  expect(after(first)).toEqual(["b"]);
  add(call, "last");
  expect(events.streamOf(first)).toBeUndefined();
  expect([events.streamOf(second), after(second)]).toEqual([own, []]);
  add(own, "c");
  expect(after(second)).toEqual(["c"]);
});

it("keeps so many bytes, and of a larger event that one alone", () => {
  events.begin(own);
  const first = add(own, "x".repeat(MAX_KEPT_BYTES / 2));
  add(own, "y".repeat(MAX_KEPT_BYTES / 4));
  expect(after(first)).toHaveLength(1);
  const third = add(own, "z".repeat(MAX_KEPT_BYTES));
  expect(events.streamOf(first)).toBeUndefined();
  add(own, "w");
  expect(after(third)).toEqual(["w"]);
});

it("forgets a stream whole, and its room with it", () => {
  const start = events.begin(own);
  const id = add(own, "x".repeat(MAX_KEPT_BYTES - 1000));
  events.forget(own);
  expect([events.streamOf(start), events.streamOf(id)]).toEqual([undefined, undefined]);
  const begun = events.begin(call);
  add(call, "y".repeat(MAX_KEPT_BYTES - 1000));
  expect(after(begun)).toHaveLength(1);
});
