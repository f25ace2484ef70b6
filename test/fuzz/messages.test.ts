/** Whatever a message's members are, a request gets one answer that is well formed, and a notification none. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client, DIALECTS, type DialectName, type Reply, resultOf } from "../protocol/client.js";
import { capabilitiesOf } from "../protocol/serving.js";
import { type Served, servedTools } from "../protocol/tools.js";
import { localPipes, memoryWire, type Wire } from "../protocol/wires.js";
import { envelopes, notifications, type Params, requests, SETTINGS } from "./arbitraries.js";

const ANSWERED_WITHIN_MS = 30_000;

function isWellFormed({ result, error }: Reply): boolean {
  if (error === undefined) return typeof result === "object" && result !== null && !Array.isArray(result);
  return result === undefined && Number.isInteger(error.code) && typeof error.message === "string";
}

/** Through pipes our own reader of lines looks at what comes; in memory it is handed over as it is. */
const WIRES: [name: string, open: (served: Served) => Promise<Wire>][] = [
  ["pipes", localPipes],
  ["memory", (served) => memoryWire(served, undefined)],
];

describe.each(DIALECTS)("in %s", (dialect) => {
  describe.each(WIRES)("over %s", (_wire, open) => messages(dialect, open));
});

function messages(dialect: DialectName, open: (served: Served) => Promise<Wire>): void {
  const { tasks, newServer } = servedTools(dialect === "io.datalayer/tasks" ? "datalayer" : "2025-11-25");
  let client: Client;
  let taskIds: string[];

  beforeAll(async () => {
    client = new Client(dialect, await open({ tasks, newServer }), capabilitiesOf(dialect));
    if (!client.isModern) await client.initialize();
    const made = ["echo", "fails", "raises"].map(async (tool) => client.create(tool, { text: "a" }));
    taskIds = (await Promise.all(made)).map(({ taskId }) => taskId);
    await Promise.all(taskIds.map((taskId) => client.ended(taskId)));
  });
  afterAll(async () => {
    await client.close();
    await tasks.close();
  });

  /** Of a subscription the first sign is its acknowledgement; ended, it is answered. */
  async function answerTo({ method, params }: Params, envelope: Record<string, unknown>): Promise<Reply> {
    const isObject = typeof params === "object" && params !== null && !Array.isArray(params);
    const { _meta } = { _meta: {}, ...(isObject && (params as object)) } as { _meta: unknown };
    const sent = isObject && client.isModern ? { ...params, _meta: { ...(_meta as object), ...envelope } } : params;
    const requestId = client.nextId;
    const replied = client.send(method, sent as Record<string, unknown>);
    if (method === "subscriptions/listen") {
      await Promise.race([
        replied,
        client.hear((heard) => heard.method.endsWith("/acknowledged") && isOf(requestId, heard.params)),
      ]);
      client.notify("notifications/cancelled", { requestId });
      return Promise.race([replied, client.request("server/discover")]);
    }
    return replied;
  }

  async function withinLimit(reply: Promise<Reply>, what: unknown): Promise<Reply> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const text = JSON.stringify(what)?.slice(0, 2000);
      timer = setTimeout(() => reject(new Error(`no answer to ${text}`)), ANSWERED_WITHIN_MS);
    });
    return await Promise.race([reply, late]).finally(() => clearTimeout(timer));
  }

  it("a request is answered with a result or with an error", async () => {
    await fc.assert(
      fc.asyncProperty(requests(taskIds), envelopes, async (request, envelope) => {
        const reply = await withinLimit(answerTo(request, envelope), [request, envelope]);
        expect([reply, isWellFormed(reply)]).toEqual([reply, true]);
      }),
      SETTINGS,
    );
    expect(resultOf(await client.call("look", { gate: "nothing was opened" })).structuredContent).toEqual({
      notes: [],
    });
    for (const taskId of taskIds) expect((await client.get(taskId)).taskId).toBe(taskId);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("requests under one id are each answered", async () => {
    const params = { taskId: taskIds[0], name: "echo", arguments: { text: "a" }, task: {} };
    for (const method of ["ping", "tools/list", "tools/call", "tasks/get", "tasks/cancel", "no/such"]) {
      const before = client.replies;
      const under = (id: number) => client.request(method, params, { id });
      const all = [under(7), under(7), under(7)];
      expect((await withinLimit(Promise.race(all), method)).error?.code).not.toBe(-32603);
      await expect.poll(() => client.replies).toBe(before + all.length);
    }
  });

  it("a notification is answered with nothing, and the next request is served", async () => {
    await fc.assert(
      fc.asyncProperty(notifications, async ({ method, params }) => {
        const before = client.replies;
        client.notify(method, params as Record<string, unknown>);
        const reply = client.call("look", { gate: "none" });
        expect(resultOf(await withinLimit(reply, [method, params])).structuredContent).toEqual({ notes: [] });
        expect(client.replies).toBe(before + 1);
      }),
      SETTINGS,
    );
  });
}

function isOf(requestId: number, params: Record<string, unknown>): boolean {
  return (
    (params._meta as Record<string, unknown> | undefined)?.["io.modelcontextprotocol/subscriptionId"] === requestId
  );
}
