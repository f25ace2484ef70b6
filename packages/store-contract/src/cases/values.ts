import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@claimcheck/core";
import { type CaseGroup, promised } from "../case.js";
import type { CaseContext } from "../case-context.js";

const AS_JSON =
  "Values come back as JSON would bring them back, and nothing that a caller does to a value afterwards changes what is stored";
const SURVIVE = "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive";

export const valueCases: CaseGroup = {
  name: "values",
  cases: [
    promised(AS_JSON, async (context) => {
      const { store } = context;
      const record = await context.newTask({ arguments: { list: [{ a: 1 }] }, request: { headers: { b: "2" } } });
      const before = structuredClone(record);
      const answered = await store.create(record);
      spoil(record, answered);
      assert.deepEqual(await store.get(before.taskId), before);
      const changes = { ...(await context.completion()), partialOutput: [{ c: 3 }], progress: { current: 1 } };
      const after = { ...before, ...structuredClone(changes), version: 2 };
      const updated = await store.update(before.taskId, 1, changes);
      spoil(changes, updated, await store.get(before.taskId), (await store.list({ limit: 9 })).tasks);
      assert.deepEqual(await store.get(before.taskId), after);
    }),
    promised(
      AS_JSON,
      async (context) => {
        const odd = { gone: undefined, list: [-0, { gone: undefined }], nested: { gone: undefined, kept: null } };
        const plain = { list: [0, {}], nested: { kept: null } };
        const task = await context.create({ arguments: odd, request: odd });
        const finished = await context.finish(task, { outcome: { kind: "result", result: odd } });
        for (const record of [finished, await context.store.get(task.taskId)]) {
          assert(record?.status === "completed");
          assert.deepEqual([record.arguments, record.request, record.outcome.result], [plain, plain, plain]);
        }
      },
      { detail: "members that are undefined are absent" },
    ),
    promised(AS_JSON, (context) => assertSurvives(context, { numbers: NUMBERS, booleans: [true, false, null] }), {
      detail: "numbers at their limits included",
    }),
    promised(AS_JSON, (context) => assertSurvives(context, { deep: nested(500) }), {
      detail: "however deep they are nested",
    }),
    promised(
      AS_JSON,
      async (context) => {
        const large = { text: `${"claim check ".repeat(context.largestValueBytes / 12 - 100)}Ω`, rows: [["Ω≈ç√"]] };
        const outcome = { kind: "result", result: large } as const;
        const finished = await context.finish(await context.create({ ttlMs: KEPT_MS }), { outcome });
        for (const task of [finished, await context.store.get(finished.taskId)]) {
          assert(task?.status === "completed");
          assert(JSON.stringify(task.outcome.result) === JSON.stringify(large), "it came back changed");
        }
      },
      { detail: "megabytes included" },
    ),
    promised(
      AS_JSON,
      async (context) => {
        await assertSurvives(context, {});
        await assertSurvives(context, { object: {}, list: [], lists: [[], [[]]] });
        const bare = await context.create({ arguments: {}, request: {} });
        const emptied = await context.changed(bare, { partialOutput: [], checkpoint: null, statusMessage: "" });
        assert.deepEqual(emptied, { ...bare, partialOutput: [], checkpoint: null, statusMessage: "", version: 2 });
        assert.deepEqual(await context.store.get(bare.taskId), emptied);
      },
      { detail: "an empty value is not an absent one" },
    ),
    promised(SURVIVE, async (context) => {
      for (const text of TEXTS) await assertSurvives(context, { [text]: text, list: [text, { [`${text}!`]: [text] }] });
    }),
    promised(
      SURVIVE,
      async (context) => {
        const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}');
        await assertSurvives(context, hostile as JsonObject);
        assert.equal(({} as Record<string, unknown>).polluted, undefined, "Object.prototype was written to");
      },
      { detail: "as data, and reach no prototype" },
    ),
    promised(
      SURVIVE,
      async (context) => {
        for (const text of TEXTS) {
          const record = await context.newTask({
            owner: text,
            idempotencyKey: text,
            toolName: text,
            fingerprint: text,
          });
          await context.store.create(record);
          assert.deepEqual(await context.store.get(record.taskId), record);
          assert.deepEqual(await context.store.findByKey(text, text), record);
          assert.equal((await context.store.list({ owner: text, limit: 1 })).tasks[0]?.owner, text);
        }
      },
      { detail: "in owners, keys and names as well" },
    ),
  ],
};

const NUMBERS = [
  ...[2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, -(2 ** 53) + 1, -(2 ** 53), 2 ** 63, 2 ** 64, 2 ** 31, -(2 ** 31) - 1],
  ...[0, 0.1, 1 / 3, 1e308, Number.MAX_VALUE, Number.MIN_VALUE, 1e21, 1e-7],
];

const TEXTS = [
  ...["", " ", "\0", "a\0b", "\0\0", "\ud800", "x\udfffy", "\udc00\ud800", "🧾", "\u2028\u2029", "\ufeff", "\uffff"],
  ...["__proto__", "constructor", '"', "\\", "\\u0000", "'", "\r\n", "\u007f\u0080", "null", "[object Object]"],
];

/** Long enough that a slow machine does not see a value expire while it is written and read. */
const KEPT_MS = 600_000;

function nested(depth: number): JsonValue {
  let value: JsonValue = "core";
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { v: value };
  return value;
}

/** `value` comes back from every payload of a record, also as a part of what `update` answers. */
async function assertSurvives(context: CaseContext, value: JsonObject): Promise<void> {
  const { store } = context;
  const record = await context.newTask({ arguments: value, request: value, checkpoint: value, ttlMs: KEPT_MS });
  await store.create(record);
  assertSame(await store.get(record.taskId), record);
  const asked = { key: "q", method: "elicitation/create", params: value, askedAt: 1, answer: value };
  const busy = await context.changed(record, { partialOutput: [value], questions: [asked], checkpoint: [value] });
  assertSame(busy, { ...record, partialOutput: [value], questions: [asked], checkpoint: [value], version: 2 });
  const done = await context.finish(busy, { outcome: { kind: "result", result: value }, partialOutput: undefined });
  assert(done.status === "completed");
  assertSame(done.outcome, { kind: "result", result: value });
  assertSame(await store.get(record.taskId), done);
}

/** Equal as JSON. Texts are compared apart, as a difference of megabytes can't be printed. */
function assertSame(actual: unknown, expected: unknown): void {
  const [a, b] = [canonical(actual), canonical(expected)];
  if (a === b) return;
  let at = 0;
  while (a[at] === b[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 20), at + 40);
  assert.fail(`came back as …${part(a)}… instead of …${part(b)}…`);
}

/** JSON with members in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Changes everything that can be reached from `values`; what is frozen stays as it is. */
function spoil(...values: unknown[]): void {
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    spoil(...Object.values(value));
    for (const member of Object.keys(value)) Reflect.set(value, member, "spoilt");
    Reflect.set(value, "added", "spoilt");
  }
}
