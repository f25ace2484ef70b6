/** What comes in and is no message, or not quite, where nothing looks at it before: in memory, and in bodies over HTTP. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { ACCEPT, HttpClient, raw, serving } from "../http/http-client.js";
import { modernScene } from "./modern-client.js";
import type { RawClient, Reply } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const RELATED = "io.modelcontextprotocol/related-task";
const digs: Parameters<typeof scene>[0] = (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug");

const IN_MEMORY: [how: string, connect: () => Promise<RawClient>][] = [
  ["server.connect", () => scene(digs).connect()],
  [
    "serveStdio",
    async () => {
      const client = (await modernScene(digs)).connect().raw;
      await client.initialize();
      return client;
    },
  ],
];

const request = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: 7, method, params });

describe.each(IN_MEMORY)("over %s in memory", (_how, connect) => {
  it.each<[string, unknown, number, number | undefined]>([
    ["a number", 42, -32600, undefined],
    ["null", null, -32600, undefined],
    ["a batch", [request("ping", {})], -32600, undefined],
    ["another version", { ...request("ping", {}), jsonrpc: "1.0" }, -32600, 7],
    ["params as a list", request("tools/call", []), -32602, 7],
    ["params null", request("tasks/get", null), -32602, 7],
    ["metadata that is null", request("tools/call", { name: "dig", _meta: null }), -32602, 7],
    ["a progress token that is none", request("tools/call", { name: "dig", _meta: { progressToken: 1.5 } }), -32602, 7],
  ])("%s is answered, and the next request is served", async (_what, message, code, id) => {
    const client = await connect();
    client.log.length = 0;
    await client.send(message);
    await eventually(() => client.log.length === 1);
    expect(client.log).toEqual([
      { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message: expect.any(String) } },
    ]);
    expect((await client.call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("a notification that is malformed is not answered", async () => {
    const client = await connect();
    client.log.length = 0;
    for (const params of [null, [], { _meta: null }]) {
      await client.send({ jsonrpc: "2.0", method: "notifications/progress", params });
    }
    await client.request("ping");
    expect(client.log).toHaveLength(1);
  });
});

describe("what decides nothing costs nothing", () => {
  const overHttp = async () => {
    const { serving: served } = await serving(digs, { auth: "none" }, { ownership: "single-user" });
    return new HttpClient(served.url);
  };
  const inSession = async () => {
    const client = await overHttp();
    await client.initialize();
    return client;
  };

  it.each<[string, () => Promise<{ request(method: string, params?: unknown): Promise<Reply> }>]>([
    ...IN_MEMORY,
    ["HTTP without sessions", overHttp],
    ["HTTP with sessions", inSession],
  ])("over %s related-task metadata that names no task is left out", async (_how, connect) => {
    const client = await connect();
    for (const related of [[], 7, null, { taskId: 7 }]) {
      const _meta = { [RELATED]: related };
      const { result } = await client.request("tools/call", { name: "dig", task: {}, _meta });
      const { taskId } = (result as { task: { taskId: string } }).task;
      expect((await client.request("tasks/result", { taskId, _meta })).result).toMatchObject({
        content: [{ text: "dug" }],
      });
    }
  });

  it("members that JSON-RPC does not know are left out", async () => {
    const client = await overHttp();
    const message = { ...request("tools/call", { name: "dig", arguments: {} }), stray: 1 };
    const { status, body } = await raw(client.url, "POST", ACCEPT, JSON.stringify(message));
    expect([status, body]).toEqual([200, expect.stringContaining("dug")]);
    const inMemory = await scene(digs).connect();
    await inMemory.send(message);
    await eventually(() => inMemory.log.some((reply) => "id" in reply && reply.id === 7 && "result" in reply));
  });
});

it.each(["[]", "null", "7", '{"_meta":{"progressToken":{}}}'])(
  "over HTTP params %s are refused at once, in the response to the request",
  async (params) => {
    const { serving: served } = await serving(digs);
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
    const answered = await raw(served.url, "POST", ACCEPT, body);
    expect(answered.status).toBe(400);
    expect(JSON.parse(answered.body)).toMatchObject({
      error: { code: expect.any(Number), message: expect.any(String) },
    });
  },
);
