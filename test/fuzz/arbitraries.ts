/** What a client may send that nobody has thought of: params of every method, and bytes that are no message. */
import fc from "fast-check";
import { IDEMPOTENCY_KEY, RELATED_TASK, TASKS_EXTENSION } from "../protocol/client.js";

/** How a run is repeated: `FUZZ_SEED=… npx vitest run test/fuzz`; the seed is in the message of a failure. `FUZZ_RUNS` makes it longer. */
export const SETTINGS = {
  ...(process.env.FUZZ_SEED !== undefined && { seed: Number(process.env.FUZZ_SEED) }),
  numRuns: Number(process.env.FUZZ_RUNS ?? 100),
  // What a request did stays done: a smaller failure would be looked for on another server than the one that failed.
  endOnFailure: true,
};

const deep = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "task", "taskId", "_meta", "method", "result"];

/** Any JSON value, and more often than not one that something stumbles over. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, "", " ", 0, -1, 0.5, 1e308, -1e308, 2 ** 53, "0", "null", [], {}, [[]], [null]),
  fc.constantFrom<unknown>(...NAMES, "\u0000", "\ud800", "\u2028", "\ufeff", "é".repeat(1000), "x".repeat(100_000)),
  fc.constantFrom<unknown>(
    deep(10),
    deep(300),
    Array.from({ length: 5000 }, () => 0),
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 }),
);

/** A member of the right kind, or anything. */
const orAnything = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: right }, { weight: 1, arbitrary: anything });

/** An object of which each member may be missing, or anything. */
const members = (model: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 5, arbitrary: fc.record(model, { requiredKeys: [] }) }, { weight: 1, arbitrary: anything });

const answer = members({
  action: orAnything(fc.constantFrom("accept", "decline", "cancel")),
  content: members({ name: anything }),
  _meta: anything,
});
const answers = orAnything(
  fc.dictionary(fc.oneof(fc.constantFrom("who", ...NAMES), fc.string()), answer, { maxKeys: 3 }),
);
const meta = members({
  [IDEMPOTENCY_KEY]: orAnything(fc.string({ minLength: 1, maxLength: 3 })),
  [RELATED_TASK]: anything,
  progressToken: anything,
  "io.datalayer/partial-output": anything,
});

/** Tools that end by themselves, whoever calls them and however. */
const TOOLS = ["echo", "only_task", "unstorable", "helpers", "fails", "throws", "raises", "look", "open_gate"];

export interface Params {
  method: string;
  params: unknown;
}

/** @param taskIds of tasks that have ended: what a method waits for is there */
export function requests(taskIds: readonly string[]): fc.Arbitrary<Params> {
  const taskId = orAnything(fc.constantFrom(...taskIds, "tsk_0123456789abcdefghijkl"));
  const aboutOne = members({ taskId, _meta: meta, inputResponses: answers, requestState: anything });
  const paramsOf: Record<string, fc.Arbitrary<unknown>> = {
    "tools/call": members({
      name: orAnything(fc.constantFrom(...TOOLS)),
      arguments: members({ text: orAnything(fc.string()), gate: orAnything(fc.string()) }),
      task: members({ ttl: orAnything(fc.integer()) }),
      _meta: meta,
      inputResponses: answers,
      requestState: anything,
    }),
    "tools/list": members({ cursor: anything, _meta: meta }),
    "tasks/list": members({ cursor: orAnything(fc.string()), _meta: meta }),
    "io.datalayer/tasks/list": members({ cursor: orAnything(fc.base64String()), _meta: meta }),
    "subscriptions/listen": members({
      notifications: members({ taskIds: orAnything(fc.array(taskId, { maxLength: 3 })), toolsListChanged: anything }),
      _meta: meta,
    }),
    ping: anything,
    "server/discover": anything,
    "resources/read": anything,
  };
  for (const name of ["get", "result", "cancel", "update"]) {
    paramsOf[`tasks/${name}`] = aboutOne;
    paramsOf[`io.datalayer/tasks/${name}`] = aboutOne;
  }
  const known = Object.entries(paramsOf).map(([method, params]) => params.map((value) => ({ method, params: value })));
  const invented = fc.record({
    method: fc.oneof(fc.constantFrom(...NAMES, "", "tasks/"), fc.string()),
    params: anything,
  });
  return fc.oneof({ weight: 10, arbitrary: fc.oneof(...known) }, { weight: 1, arbitrary: invented });
}

export const notifications: fc.Arbitrary<Params> = fc.record({
  method: fc.oneof(
    fc.constantFrom("notifications/cancelled", "notifications/progress", "notifications/tasks/status", "tools/call"),
    fc.constantFrom("notifications/initialized", "notifications/roots/list_changed", "tasks/cancel"),
    fc.string(),
  ),
  params: members({
    requestId: anything,
    progressToken: anything,
    progress: anything,
    taskId: anything,
    reason: anything,
  }),
});

/** The envelope of a request of 2026, mostly a right one. */
export const envelopes: fc.Arbitrary<Record<string, unknown>> = fc.record({
  "io.modelcontextprotocol/protocolVersion": fc.oneof({ weight: 9, arbitrary: fc.constant("2026-07-28") }, anything),
  "io.modelcontextprotocol/clientInfo": fc.oneof(
    { weight: 9, arbitrary: fc.constant({ name: "fuzz", version: "0" }) },
    anything,
  ),
  "io.modelcontextprotocol/clientCapabilities": fc.oneof(
    { weight: 6, arbitrary: fc.constant({ extensions: { [TASKS_EXTENSION]: {} } }) },
    { weight: 1, arbitrary: members({ extensions: anything, elicitation: anything, tasks: anything }) },
    { weight: 1, arbitrary: anything },
  ),
});

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Bytes that are, or once were, a message. They end no line. */
export const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((all) => all.filter((byte) => byte !== 0x0a && byte !== 0x0d)),
  anything.map((value) => utf8(JSON.stringify(value))),
  fc
    .record(
      {
        jsonrpc: orAnything(fc.constant("2.0")),
        id: orAnything(fc.oneof(fc.integer(), fc.string())),
        method: orAnything(fc.constantFrom("ping", "tools/list", "tasks/get", "tools/call", "initialize")),
        params: anything,
        result: anything,
        error: anything,
      },
      { requiredKeys: ["jsonrpc"] },
    )
    .chain((message) => {
      const text = JSON.stringify(message);
      return fc.oneof(
        fc.constant(utf8(text)),
        fc.nat(text.length).map((at) => utf8(text.slice(0, at))),
        fc.constant(utf8(`[${text},${text}]`)),
        fc.constant(utf8(text.replace("{", '{"__proto__":{"polluted":true},'))),
        fc.nat(text.length).map((at) => Uint8Array.of(...utf8(text.slice(0, at)), 0xff, 0xc0, ...utf8(text.slice(at)))),
      );
    }),
  fc.constantFrom("[".repeat(100_000), '{"a":'.repeat(50_000), `"${"x".repeat(1_000_000)}"`).map(utf8),
);
