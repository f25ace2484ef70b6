/** What strangers and guessers hear over HTTP: the same words, the same status, after the same work. */
import { MemoryStore } from "@claimcheck/core";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { Ownership, ServeHttpOptions, TasksOptions } from "../../src/index.js";
import { envelope, gate } from "../wire/raw-client.js";
import { OPTIONAL, silent } from "../wire/servers.js";
import { HttpClient, raw, replyOf, serving } from "./http-client.js";

const verifyToken = async (token: string): Promise<AuthInfo> => ({ token, clientId: token, scopes: [] });
const EXTENSION = "io.modelcontextprotocol/tasks";

/** Says which of its methods were called. */
class CountingStore extends MemoryStore {
  calls: string[] = [];

  override get(taskId: string): ReturnType<MemoryStore["get"]> {
    this.calls.push("get");
    return super.get(taskId);
  }

  override update(...args: Parameters<MemoryStore["update"]>): ReturnType<MemoryStore["update"]> {
    this.calls.push("update");
    return super.update(...args);
  }
}

async function guarded(store = new CountingStore()) {
  const running = gate<string>();
  const scene = await serving(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) =>
        Promise.race([running.promise, ctx.cancelToken.wait()]),
      ),
    { auth: { verifyToken } },
    { store },
  );
  const as = async (name: string, extensions?: string[]) => {
    const client = new HttpClient(scene.serving.url, { authorization: `Bearer ${name}` });
    await client.initialize(extensions);
    return client;
  };
  return { ...scene, store, as, running };
}

/** A `tasks/update` of the 2026 era. */
function update(url: string, name: string, params: { taskId: string; [member: string]: unknown }): Promise<Response> {
  const headers = {
    authorization: `Bearer ${name}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tasks/update",
    "mcp-name": params.taskId,
  };
  return new HttpClient(url, headers).post("tasks/update", { ...params, _meta: envelope(EXTENSION) }, { id: 7 });
}

const INVENTED = "tsk_00000000000000000000000000";

describe("foreign, expired and invented ids", () => {
  const METHODS = ["tasks/get", "tasks/result", "tasks/cancel", "io.datalayer/tasks/get", "io.datalayer/tasks/result"];

  it.each(METHODS)("are answered by %s word for word the same, with one status", async (method) => {
    const { as, running } = await guarded();
    const [ann, bob] = [await as("ann"), await as("bob")];
    const foreign = (await ann.callTask("dig")).taskId;
    running.open("dug");
    const expired = (await bob.callTask("dig", { task: { ttl: 0 } })).taskId;
    await eventually(async () => (await bob.request("tasks/get", { taskId: expired })).error !== undefined);
    const answers = await Promise.all(
      [foreign, expired, INVENTED].map(async (taskId) => {
        const response = await bob.post(method, { taskId }, { id: 7 });
        return [response.status, await replyOf(response)];
      }),
    );
    expect(answers[0]?.[1]).toMatchObject({ error: { message: "No such task." } });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it.each(METHODS)("cost %s the same: one look at the store, no write and no wait", async (method) => {
    const { as, store } = await guarded();
    const [ann, bob] = [await as("ann"), await as("bob")];
    const { taskId } = await ann.callTask("dig");
    const costs: string[][] = [];
    for (const id of [taskId, INVENTED]) {
      store.calls = [];
      await bob.request(method, { taskId: id });
      costs.push(store.calls);
    }
    expect(costs).toEqual([["get"], ["get"]]);
    expect((await ann.request("tasks/get", { taskId })).result).toMatchObject({ status: "working" });
  });

  it("are the same to tasks/update, which answers nobody's question", async () => {
    const { as, store, serving: served } = await guarded();
    const { taskId } = await (await as("ann")).callTask("dig");
    const answers = await Promise.all(
      [taskId, INVENTED].map(async (id) => {
        const response = await update(served.url, "bob", { taskId: id, inputResponses: { q: { action: "accept" } } });
        return [response.status, (await replyOf(response)).error];
      }),
    );
    expect(answers[0]?.[1]).toMatchObject({ code: -32602, message: "No such task." });
    expect(answers[1]).toEqual(answers[0]);
    expect(store.calls).not.toContain("update");
  });
});

it("a store that answers every id with somebody's task gives it to nobody else", async () => {
  class Careless extends CountingStore {
    annsTask = "";

    override get(): ReturnType<MemoryStore["get"]> {
      return super.get(this.annsTask);
    }

    override list(query: Parameters<MemoryStore["list"]>[0]): ReturnType<MemoryStore["list"]> {
      return super.list({ limit: query.limit });
    }
  }
  const store = new Careless();
  const { as } = await guarded(store);
  store.annsTask = (await (await as("ann")).callTask("dig")).taskId;
  const bob = await as("bob");
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    expect((await bob.request(method, { taskId: INVENTED })).error?.message).toBe("No such task.");
  }
  expect((await bob.request("tasks/list")).result?.tasks).toEqual([]);
  expect(store.calls).not.toContain("update");
});

describe("a session of somebody else", () => {
  it("is unknown to every method, with a last event id too; its stream hears nothing and goes on", async () => {
    const { as, serving: served, running } = await guarded();
    const [ann, bob] = [await as("ann"), await as("bob")];
    const stream = await ann.listen();
    const { taskId } = await ann.callTask("dig");
    const stolen = { ...ann.headers, authorization: bob.headers.authorization ?? "" };
    const unknown = { ...bob.headers, "mcp-session-id": "00000000-0000-4000-8000-000000000000" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/cancel", params: { taskId } });
    for (const [method, extra] of [
      ["POST", {}],
      ["GET", {}],
      ["GET", { "last-event-id": "0" }],
      ["DELETE", {}],
    ] as const) {
      const sent = method === "POST" ? body : "";
      const refused = await raw(served.url, method, { ...stolen, ...extra }, sent);
      const invented = await raw(served.url, method, { ...unknown, ...extra }, sent);
      expect([refused.status, refused.body]).toEqual([invented.status, invented.body]);
      expect(refused.status).toBe(404);
    }
    expect(stream.heard).toEqual([]);
    running.open("dug");
    await eventually(() => stream.heard.length > 0);
    stream.close();
  });

  it("is unknown as well without a token: 401, before anything is looked up", async () => {
    const { as, serving: served } = await guarded();
    const { authorization: _none, ...stolen } = (await as("ann")).headers;
    for (const method of ["POST", "GET", "DELETE"]) expect((await raw(served.url, method, stolen)).status).toBe(401);
  });

  it("can be resumed by nobody: an event id of one stream gives nothing of another", async () => {
    const { as, serving: served, running } = await guarded();
    const [ann, bob] = [await as("ann"), await as("bob")];
    await ann.callTask("dig");
    running.open("dug");
    for (const lastEventId of ["0", "1", "__proto__", "x".repeat(1000), ann.sessionId ?? ""]) {
      const controller = new AbortController();
      const headers = { ...bob.headers, "last-event-id": lastEventId };
      const response = await fetch(served.url, { headers, signal: controller.signal });
      expect([lastEventId, response.status]).toEqual([lastEventId, 400]);
      controller.abort();
    }
  });
});

describe.each(["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"])(
  "%s, which every object has,",
  (name) => {
    it("is no tool, no task, no cursor, no method, no question and no session", async () => {
      const { as, serving: served, errors } = await guarded();
      const client = await as("ann");
      const { taskId } = await client.callTask("dig");
      for (const task of [{}, { task: {} }]) {
        // The SDK takes what every object has for a tool that is switched off, and calls it as little.
        const { error } = await client.request("tools/call", { name, arguments: {}, ...task });
        expect(error).toEqual({ code: -32602, message: `Tool ${name} disabled` });
      }
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        expect((await client.request(method, { taskId: name })).error?.message).toBe("No such task.");
      }
      expect((await client.request("tasks/list", { cursor: name })).error?.code).toBe(-32602);
      expect((await client.request(name)).error?.code).toBe(-32601);
      expect((await client.request(`tasks/${name}`)).error?.code).toBe(-32601);
      const answers = JSON.parse(`{ ${JSON.stringify(name)}: { "action": ${JSON.stringify(name)} } }`);
      const updated = await update(served.url, "ann", { taskId, inputResponses: answers });
      expect((await replyOf(updated)).result).toMatchObject({ resultType: "complete" });
      const headers = { ...client.headers, "mcp-session-id": name };
      expect((await raw(served.url, "POST", headers, '{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(404);
      expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ status: "working" });
      expect(errors).toEqual([]);
    });

    it("is a key like any other, and belongs to its owner", async () => {
      const { as } = await guarded();
      const [ann, bob] = [await as("ann"), await as("bob")];
      const keyed = { _meta: { "io.datalayer/idempotency-key": name } };
      const first = await ann.callTask("dig", keyed);
      expect((await ann.callTask("dig", keyed)).taskId).toBe(first.taskId);
      expect((await bob.callTask("dig", keyed)).taskId).not.toBe(first.taskId);
    });
  },
);

describe("a caller of 2026-07-28 without an identity", () => {
  async function nobody() {
    const { serving: served } = await serving((tasks, server) => {
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => (ctx.task === null ? "directly" : "as a task"));
      tasks.registerTool(server, "mine", { execution: { taskSupport: "required" } }, () => "mined");
    });
    return async (name: string, meta: object = {}) => {
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
      const params = { name, arguments: {}, _meta: { ...envelope(EXTENSION), ...meta } };
      return replyOf(await new HttpClient(served.url, headers).post("tools/call", params, { id: 7 }));
    };
  }

  it("gets the result of a tool that may run as a task, directly", async () => {
    const call = await nobody();
    expect((await call("dig")).result).toMatchObject({
      resultType: "complete",
      content: [{ type: "text", text: "directly" }],
    });
  });

  it("is refused where only a task will do, and told what both sides can do", async () => {
    const call = await nobody();
    const refusals = await Promise.all([call("mine"), call("dig", { "io.datalayer/idempotency-key": "k" })]);
    for (const { error } of refusals) {
      expect(error?.code).toBe(-32600);
      for (const remedy of ["authenticate", "session", "auth of serveHttp", 'ownership: "single-user"']) {
        expect(error?.message).toContain(remedy);
      }
    }
  });
});

describe("a server without authentication", () => {
  const warnings = async (options: ServeHttpOptions, tasksOptions: TasksOptions) => {
    const said: string[] = [];
    const logger = { ...silent, warn: (_fields: object, message: string) => void said.push(message) };
    await serving(() => {}, options, { logger, ...tasksOptions });
    return said;
  };

  it.each<[ServeHttpOptions["sessions"], Ownership, string]>([
    [true, "session", "2026-07-28"],
    [false, "session", "nobody gets a task"],
    [true, "principal", "nobody gets a task"],
  ])("with sessions: %s and ownership %s says once what its clients miss", async (sessions, ownership, what) => {
    const said = await warnings({ auth: "none", sessions: sessions === true }, { ownership });
    expect(said).toEqual([expect.stringContaining(what)]);
    expect(said[0]).toContain('ownership: "single-user"');
  });

  it("has nothing to say where it serves one person, and with authentication nobody has", async () => {
    expect(await warnings({ auth: "none" }, { ownership: "single-user" })).toEqual([]);
    expect(await warnings({ auth: { verifyToken } }, {})).toEqual([]);
  });
});
