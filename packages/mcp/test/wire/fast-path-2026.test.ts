/** Requests of 2026-07-28 that are answered without the SDK's dispatch are answered as the SDK's dispatch does. */
import { expect, it } from "vitest";
import { z } from "zod";
import { envelopeOf, FakeClock, type Reply } from "../../src/testing/index.js";
import { type ModernClient, modernScene, OFFICIAL } from "./modern-client.js";

const NEVER = "tsk_aaaaaaaaaaaaaaaaaaaaaa";
const ENVELOPE = envelopeOf({ extensions: [OFFICIAL] });
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";

type Params = Record<string, unknown>;

/** Method and params of a request, for a client that has one task that works and one that is done. */
type Case = (tasks: { working: string; done: string }) => [method: string, params: Params];

const dig = (params: Params, meta: Params = ENVELOPE): Case => {
  return () => ["tools/call", { name: "dig", arguments: { depth: 1 }, ...params, _meta: meta }];
};
const get = (params: Params, meta: Params = ENVELOPE): Case => {
  return () => ["tasks/get", { taskId: NEVER, ...params, _meta: meta }];
};

const CASES: Record<string, Case> = {
  "a call that becomes a task": dig({}),
  "a call without arguments": dig({ arguments: undefined }),
  "a call with arguments that the schema refuses": dig({ arguments: { depth: "deep" } }),
  "a call with arguments that are no object": dig({ arguments: [1] }),
  "a call of a tool that is not there": dig({ name: "fly" }),
  "a call with the legacy task parameter": dig({ task: { ttl: -1 } }),
  "a call with a progress token": dig({}, { ...ENVELOPE, progressToken: 7 }),
  "a call with a progress token that is none": dig({}, { ...ENVELOPE, progressToken: {} }),
  "a call with a key": dig({}, { ...ENVELOPE, "io.datalayer/idempotency-key": "k" }),
  "a call with a key that is none": dig({}, { ...ENVELOPE, "io.datalayer/idempotency-key": "" }),
  "a call that brings a requestState": dig({ requestState: "x" }),
  "a call that brings answers": dig({ inputResponses: { a: { action: "accept" } } }),
  "a call with metadata of another request's": dig(
    {},
    { ...ENVELOPE, "io.modelcontextprotocol/related-task": { taskId: NEVER } },
  ),
  "a call that declares no extension": dig({}, envelopeOf({})),
  "a call without an envelope": dig({}, {}),
  "a call of another revision": dig({}, { ...ENVELOPE, [VERSION]: "2027-01-01" }),
  "a call whose revision is no text": dig({}, { ...ENVELOPE, [VERSION]: 5 }),
  "a call without capabilities": dig({}, { [VERSION]: "2026-07-28" }),
  "a call whose capabilities are null": dig({}, { ...ENVELOPE, [CAPABILITIES]: null }),
  "a call whose capabilities are malformed": dig({}, { ...ENVELOPE, [CAPABILITIES]: { extensions: 5 } }),
  "a call whose client has no name": dig({}, { ...ENVELOPE, [CLIENT]: { version: "0" } }),
  "a call with a log level": dig({}, { ...ENVELOPE, "io.modelcontextprotocol/logLevel": "error" }),
  "a call with a log level that is none": dig({}, { ...ENVELOPE, "io.modelcontextprotocol/logLevel": null }),
  "a get of a task that works": ({ working }) => get({ taskId: working })({ working, done: "" }),
  "a get of a task that is done": ({ done }) => get({ taskId: done })({ working: "", done }),
  "a get with the partial output": ({ working }) =>
    get({ taskId: working }, { ...ENVELOPE, "io.datalayer/partial-output": true })({ working, done: "" }),
  "a get of a task that is not there": get({}),
  "a get without an id": get({ taskId: undefined }),
  "a get of an id that is no text": get({ taskId: 5 }),
  "a get with stray members": ({ done }) => get({ taskId: done, stray: 1, task: {} })({ working: "", done }),
  "a get that declares no extension": get({}, envelopeOf({})),
  "a get that declares ours": get({}, envelopeOf({ extensions: ["io.datalayer/tasks"] })),
  "a get with an envelope that is none": get({}, { ...ENVELOPE, [CAPABILITIES]: "none" }),
  "a result, which this revision has not": ({ done }) => ["tasks/result", { taskId: done, _meta: ENVELOPE }],
};

async function client(fastPath: boolean): Promise<{ client: ModernClient; tasks: { working: string; done: string } }> {
  const inputSchema = z.object({ depth: z.number().optional() });
  const { connect } = await modernScene(
    (tasks, server) => {
      const execution = { taskSupport: "optional" } as const;
      tasks.registerTool(server, "dig", { inputSchema, execution }, async (_args, ctx) => {
        if (ctx.task !== null) await ctx.cancelToken.wait();
        return "dug";
      });
      tasks.registerTool(server, "dug", { execution }, () => "dug");
    },
    // Two scenes that are compared must not differ in when what happened.
    { fastPath, clock: new FakeClock() },
  );
  const client = connect();
  const done = await client.create("dug");
  const working = await client.create("dig");
  await expect.poll(async () => (await client.get(done)).status).toBe("completed");
  return { client, tasks: { working, done } };
}

/** What differs from task to task, made the same. */
function normal({ result, error }: Reply): unknown {
  const text = JSON.stringify({ result, error });
  return JSON.parse(text.replace(/tsk_[\w-]+/g, "tsk").replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then"));
}

/** Turns of the event loop, more than any answer takes: milliseconds would pass on a busy machine before it is there. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Nothing is answered to what the SDK drops. */
async function ask(client: ModernClient, [method, params]: [string, Params]): Promise<unknown> {
  const reply = client.raw.request(method, params);
  const pong = client.request("server/discover");
  return Promise.race([reply.then(normal), pong.then(turns).then(() => "nothing")]);
}

it.each(Object.entries(CASES))("%s is answered the same", async (_name, request) => {
  const fast = await client(true);
  const slow = await client(false);
  expect(await ask(fast.client, request(fast.tasks))).toEqual(await ask(slow.client, request(slow.tasks)));
});
