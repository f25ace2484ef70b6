import assert from "node:assert/strict";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

const NEVER_MEET = "Keys of different owners never meet";
const FIND = "The live or finished record that holds the key; `null` when none does, or it has expired";

export const keyScopeCases: CaseGroup = {
  name: "key scope",
  cases: [
    promised(NEVER_MEET, (context) =>
      assertAllDistinct(context, [
        ["ada", "key"],
        ["bob", "key"],
        ["", "key"],
      ]),
    ),
    // An owner and a key that are joined with a separator meet wherever a caller may write that separator.
    promised(NEVER_MEET, (context) => assertAllDistinct(context, SEPARATORS.flatMap(splitBoth)), {
      detail: "whatever characters join or end them",
    }),
    promised(NEVER_MEET, (context) => assertAllDistinct(context, LOOK_ALIKES.flatMap(asOwnerAndAsKey)), {
      detail: "nor do two that only look or fold alike",
    }),
    promised(NEVER_MEET, (context) => assertAllDistinct(context, MEMBER_NAMES.flatMap(asOwnerAndAsKey)), {
      detail: "nor does one meet what every object has",
    }),
    promised(FIND, async (context) => {
      const { store } = context;
      assert.equal(await store.findByKey("owner", "key"), null);
      const task = await context.create({ idempotencyKey: "key" });
      assert.deepEqual(await store.findByKey("owner", "key"), task);
      assert.equal(await store.findByKey("owner", "other"), null);
      assert.equal(await store.findByKey("other", "key"), null);
      const finished = await context.finish(task);
      assert.deepEqual(await store.findByKey("owner", "key"), finished);
      await context.passTtl();
      assert.equal(await store.findByKey("owner", "key"), null);
    }),
  ],
};

type OwnerAndKey = readonly [owner: string, key: string];

const SEPARATORS = [
  ":",
  "/",
  "|",
  "\0",
  "\n",
  "\t",
  " ",
  ",",
  "#",
  "-",
  "_",
  "%",
  "\\",
  '"',
  "'",
  "{",
  "}",
  "::",
  "\u001f",
];
const LOOK_ALIKES = [
  "a",
  "A",
  "a ",
  " a",
  "a\0",
  "ä",
  "a\u0308",
  "\ud800",
  "\ud801",
  "\udc00",
  "\ufffd",
  "a%",
  "a_",
  '"a"',
];
const MEMBER_NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "length", "0"];

const splitBoth = (separator: string): OwnerAndKey[] => [
  [`a${separator}b`, "c"],
  ["a", `b${separator}c`],
  [`a${separator}`, "b"],
  ["a", `${separator}b`],
];

const asOwnerAndAsKey = (name: string): OwnerAndKey[] => [
  [name, "key"],
  ["owner", name],
];

/** Each pair names a task of its own, in keys and in listings. */
async function assertAllDistinct(context: CaseContext, pairs: readonly OwnerAndKey[]): Promise<void> {
  const { store } = context;
  const owned = new Map<string, Set<string>>();
  const holders: [OwnerAndKey, string][] = [];
  for (const [owner, idempotencyKey] of pairs) {
    const record = await context.newTask({ owner, idempotencyKey });
    const meets = `owner ${JSON.stringify(owner)}, key ${JSON.stringify(idempotencyKey)} meets another`;
    assert.equal((await store.create(record)).taskId, record.taskId, meets);
    holders.push([[owner, idempotencyKey], record.taskId]);
    owned.set(owner, (owned.get(owner) ?? new Set()).add(record.taskId));
  }
  for (const [pair, taskId] of holders) assert.equal((await store.findByKey(...pair))?.taskId, taskId);
  for (const [owner, ids] of owned) assert.deepEqual(new Set(await context.listAll({ owner })), ids);
}
