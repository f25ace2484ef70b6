/** How many direct calls wait for their callers between the rounds. */
import { expect, it } from "vitest";
import { MAX_PARKED, ParkedCall, ParkedCalls } from "../../src/questions/parked-calls.js";
import { elicitation } from "../../src/questions/question.js";

function asking(parked: ParkedCalls, owner: string) {
  const call = new ParkedCall(owner, "dig", { elicitation: {} });
  const answered = call.ask(elicitation({ message: "Sure?", requestedSchema: { type: "object", properties: {} } }));
  answered.catch(() => {});
  parked.park(call);
  return { call, answered, isKept: () => parked.find(call.state, owner, "dig") === call };
}

it("of too many, the oldest of whoever has most is cancelled, and nobody else's", async () => {
  const parked = new ParkedCalls();
  const bobs = asking(parked, "bob");
  const anns = Array.from({ length: MAX_PARKED - 1 }, () => asking(parked, "ann"));
  const [oldest, next] = anns;
  const carols = asking(parked, "carol");
  expect([bobs, carols, next].map((kept) => kept?.isKept())).toEqual([true, true, true]);
  expect(oldest?.isKept()).toBe(false);
  expect(oldest?.call.signal.aborted).toBe(true);
  await expect(oldest?.answered).rejects.toThrow(/ended/);
  asking(parked, "ann");
  expect([bobs, carols].map((kept) => kept.isKept())).toEqual([true, true]);
  expect(parked.size).toBe(MAX_PARKED);
});

it("one that a caller waits for now is not taken for a leftover", () => {
  const parked = new ParkedCalls();
  const [oldest, next] = Array.from({ length: MAX_PARKED }, () => asking(parked, "ann"));
  void oldest?.call.turn();
  asking(parked, "ann");
  expect([oldest, next].map((kept) => kept?.isKept())).toEqual([true, false]);
});

it("a call that asks again takes no second place", () => {
  const parked = new ParkedCalls();
  const { call } = asking(parked, "ann");
  parked.park(call);
  expect(parked.size).toBe(1);
});
