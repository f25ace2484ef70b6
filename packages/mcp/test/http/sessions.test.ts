import { MemoryStore, type TaskRecord } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { HttpSessions, type SessionsOptions } from "../../src/http/sessions.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { ACCEPT, HttpClient, messagesOf, raw, replyOf, serving } from "./http-client.js";

const SINGLE_USER = { ownership: "single-user" } as const;

async function session(url: string, headers: Record<string, string> = {}): Promise<HttpClient> {
  const client = new HttpClient(url, headers);
  await client.initialize();
  return client;
}

describe("a session", () => {
  it("sees its tasks' status and progress on its stream", async () => {
    const running = gate();
    const { serving: served } = await serving((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        await running.promise;
        ctx.task?.sendProgress(1, { total: 2 });
        return "dug";
      }),
    );
    const client = await session(served.url);
    const stream = await client.listen();
    const { taskId } = await client.callTask("dig", { _meta: { progressToken: 0 } });
    running.open();
    await eventually(() => stream.heard.length === 2);
    expect(stream.heard).toMatchObject([
      { method: "notifications/progress", params: { progressToken: 0, progress: 1, total: 2 } },
      { method: "notifications/tasks/status", params: { taskId, status: "completed" } },
    ]);
    stream.close();
  });

  it("that waits for a result sees them on that request's stream, before the result", async () => {
    const waiting = gate();
    const { serving: served } = await serving((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        await waiting.promise;
        ctx.task?.sendProgress(1);
        return "dug";
      }),
    );
    const client = await session(served.url);
    const { taskId } = await client.callTask("dig", { _meta: { progressToken: "t" } });
    const response = await client.post("tasks/result", { taskId });
    waiting.open();
    const methods: unknown[] = [];
    for await (const message of messagesOf(response)) methods.push(message.method ?? message.result);
    expect(methods).toMatchObject([
      "notifications/progress",
      "notifications/tasks/status",
      { content: [{ type: "text", text: "dug" }] },
    ]);
  });

  it("that has ended leaves its tasks: they complete, and whoever may see them collects", async () => {
    const running = gate();
    const { serving: served } = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async () => {
          await running.promise;
          return "dug";
        }),
      { auth: "none" },
      SINGLE_USER,
    );
    const first = await session(served.url);
    const { taskId } = await first.callTask("dig");
    expect((await first.delete()).status).toBe(200);
    running.open();
    const second = await session(served.url);
    expect((await second.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it.each(["unknown", "", "__proto__", "constructor"])("named %j is not found", async (sessionId) => {
    const { serving: served } = await serving(() => {});
    const client = new HttpClient(served.url, { "mcp-session-id": sessionId });
    expect((await client.post("ping", {})).status).toBe(404);
    expect((await fetch(served.url, { headers: client.headers })).status).toBe(404);
    expect((await client.delete()).status).toBe(404);
  });

  it("that was ended is not found any more", async () => {
    const { serving: served } = await serving(() => {});
    const client = await session(served.url);
    await client.delete();
    expect((await client.post("ping", {})).status).toBe(404);
  });

  it("is no credential: somebody else's is not found, and is not disturbed", async () => {
    const verifyToken = async (token: string) => ({ token, clientId: token, scopes: [] });
    const { serving: served } = await serving(() => {}, { auth: { verifyToken } });
    const ann = await session(served.url, { authorization: "Bearer ann" });
    const stream = await ann.listen();
    const bob = { ...ann.headers, authorization: "Bearer bob" };
    for (const method of ["POST", "GET", "DELETE"]) {
      const body = method === "POST" ? JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) : "";
      expect((await raw(served.url, method, bob, body)).status).toBe(404);
    }
    expect((await ann.request("ping")).result).toEqual({});
    expect(stream.heard).toEqual([]);
    stream.close();
  });

  it("without authentication keeps its tasks to itself", async () => {
    const { serving: served } = await serving((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
    );
    const [a, b] = [await session(served.url), await session(served.url)];
    const { taskId } = await a.callTask("dig");
    expect((await b.request("tasks/get", { taskId })).error).toEqual({ code: -32602, message: "No such task." });
    expect((await b.request("tasks/list")).result).toEqual({ tasks: [] });
  });

  it("idle for its time is ended; one in use, or with an open stream, is not", async () => {
    const clock = new FakeClock();
    const { serving: served } = await serving(() => {}, { auth: "none", sessionIdleMs: 60_000, clock });
    const [idle, used, streaming] = [await session(served.url), await session(served.url), await session(served.url)];
    const stream = await streaming.listen();
    for (let i = 0; i < 4; i += 1) {
      await clock.advance(30_000);
      expect((await used.request("ping")).result).toEqual({});
    }
    expect((await idle.post("ping", {})).status).toBe(404);
    expect((await streaming.request("ping")).result).toEqual({});
    stream.close();
  });

  it("over the limit takes the place of the one idle for longest, which is said", async () => {
    const clock = new FakeClock();
    const { serving: served, errors } = await serving(() => {}, { auth: "none", maxSessions: 2, clock });
    const [first, second] = [await session(served.url), await session(served.url)];
    await clock.advance(1000);
    await first.request("ping");
    await session(served.url);
    expect((await second.post("ping", {})).status).toBe(404);
    expect((await first.post("ping", {})).status).toBe(200);
    expect(errors.map(({ message }) => message)).toEqual([
      "Ended a session that was idle for 1000 ms to make room: 2 may be open.",
    ]);
  });

  it("over the limit is told to wait when all are in use", async () => {
    const { serving: served } = await serving(() => {}, { auth: "none", maxSessions: 1 });
    const stream = await (await session(served.url)).listen();
    expect((await initialize(served.url)).status).toBe(503);
    stream.close();
  });

  it("of somebody with few is not given up for somebody with many", async () => {
    const verifyToken = async (token: string) => ({ token, clientId: token, scopes: [] });
    const { serving: served } = await serving(() => {}, { auth: { verifyToken }, maxSessions: 3 });
    const ann = await session(served.url, { authorization: "Bearer ann" });
    for (let i = 0; i < 10; i += 1) await session(served.url, { authorization: "Bearer mallory" });
    expect((await ann.request("ping")).result).toEqual({});
  });

  it("takes its room from the moment it is asked for: many at once are no more than may be", async () => {
    const { serving: served } = await serving(() => {}, { auth: "none", maxSessions: 3 });
    const opened = await Promise.all(Array.from({ length: 12 }, () => initialize(served.url)));
    const ids = opened.map(({ headers }) => headers.get("mcp-session-id")).filter((id) => id !== null);
    const alive = await Promise.all(
      ids.map(async (id) => (await new HttpClient(served.url, { "mcp-session-id": id }).post("ping", {})).status),
    );
    expect(alive.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  });
});

function initialize(url: string, params: object = { protocolVersion: "2025-11-25" }): Promise<Response> {
  return new HttpClient(url).post("initialize", {
    capabilities: {},
    clientInfo: { name: "x", version: "0" },
    ...params,
  });
}

describe("nothing is left of sessions", () => {
  function sessions(options: Partial<SessionsOptions> = {}) {
    const clock = new FakeClock();
    const servers = { made: 0, closed: 0 };
    const factory = () => {
      const mcp = new McpServer({ name: "test", version: "0" });
      servers.made += 1;
      mcp.server.onclose = () => {
        servers.closed += 1;
      };
      return mcp;
    };
    const held = new HttpSessions({
      factory,
      maxSessions: 10_000,
      sessionIdleMs: 60_000,
      resumeMs: 30_000,
      maxBodyBytes: 1000,
      callerKey: () => "",
      onerror: () => {},
      clock,
      ...options,
    });
    onTestFinished(() => held.close());
    const request = (method: string, headers: Record<string, string> = {}) =>
      new Request("http://localhost/mcp", { method, headers: { ...ACCEPT, ...headers } });
    const open = async (params: unknown = HELLO) => {
      const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
      const response = await held.open({ request: request("POST"), authInfo: undefined, body });
      await response.text();
      return response.headers.get("mcp-session-id");
    };
    const end = (id: string) =>
      held.serve(id, {
        request: request("DELETE", { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }),
        authInfo: undefined,
        body: undefined,
      });
    return { held, servers, open, end, clock };
  }

  const HELLO = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } };

  it("that ended with DELETE, or whose client has vanished", async () => {
    const { held, servers, open, end, clock } = sessions();
    for (let i = 0; i < 300; i += 1) {
      const id = await open();
      if (i % 2 === 0 && id !== null) expect((await end(id)).status).toBe(200);
    }
    expect(held.size).toBe(150);
    await clock.advance(120_000);
    expect(held.size).toBe(0);
    await eventually(() => servers.closed === servers.made);
  });

  it("whose initialize was refused, or whose server could not be had", async () => {
    const { held, servers, open } = sessions();
    for (let i = 0; i < 50; i += 1) await open({ protocolVersion: 7 });
    const failing = sessions({
      factory: () => {
        throw new Error("no server");
      },
    });
    await expect(failing.open()).rejects.toThrow("no server");
    expect(failing.held.size).toBe(0);
    await held.close();
    expect([held.size, servers.closed]).toEqual([0, servers.made]);
  });
});

it("a direct call that its caller cancels is not answered, and its stream ends", async () => {
  const started = gate();
  const { serving: served } = await serving((tasks, server) =>
    tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
      started.open();
      await ctx.cancelToken.wait();
    }),
  );
  const client = await session(served.url);
  const response = await client.post("tools/call", { name: "dig" }, { id: "mine" });
  await started.promise;
  const params = { requestId: "mine" };
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  expect((await fetch(served.url, { method: "POST", headers: client.headers, body })).status).toBe(202);
  const messages: unknown[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  expect(messages).toEqual([]);
});

it.each([true, false])(
  "cancelling the request that creates a task changes nothing: its stream brings the claim check (fast path: %s)",
  async (fastPath) => {
    const creating = gate();
    class SlowStore extends MemoryStore {
      override async create(record: TaskRecord): Promise<TaskRecord> {
        await creating.promise;
        return super.create(record);
      }
    }
    const { serving: served } = await serving(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
      { auth: "none" },
      { store: new SlowStore(), fastPath },
    );
    const client = await session(served.url);
    const response = await client.post("tools/call", { name: "dig", task: {} }, { id: "mine" });
    const params = { requestId: "mine" };
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    await fetch(served.url, { method: "POST", headers: client.headers, body });
    creating.open();
    expect((await replyOf(response)).result).toMatchObject({ task: { status: "working" } });
  },
);

describe("a caller that hangs up", () => {
  it("stops its direct call, at once where it cannot come back for the answer", async () => {
    let started = gate();
    let stopped = gate<boolean>();
    const { serving: served } = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          started.open();
          stopped.open(await ctx.cancelToken.wait());
        }),
      { auth: "none", resumeMs: 0 },
    );
    for (const client of [await session(served.url), new HttpClient(served.url)]) {
      started = gate();
      stopped = gate<boolean>();
      const controller = new AbortController();
      const call = client.post("tools/call", { name: "dig" }, { signal: controller.signal });
      call.catch(() => {});
      await started.promise;
      controller.abort();
      expect(await stopped.promise).toBe(true);
    }
  });

  it("stops no task, nor does one that polls; and leaves no waiter behind", async () => {
    const running = gate();
    let aborted = false;
    const { tasks, serving: served } = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          ctx.signal.addEventListener("abort", () => {
            aborted = true;
          });
          await running.promise;
          return "dug";
        }),
      { auth: "none" },
      SINGLE_USER,
    );
    const client = await session(served.url);
    const { taskId } = await client.callTask("dig");
    for (const waiting of [client, new HttpClient(served.url)]) {
      const controller = new AbortController();
      const response = waiting.post("tasks/result", { taskId }, { signal: controller.signal });
      response.then((r) => r.text()).catch(() => {});
      await eventually(() => tasks.runtime.gauges.watchedTasks === 1);
      const before = await client.request("ping");
      expect(before.result).toEqual({});
      controller.abort();
    }
    running.open();
    const later = await session(served.url);
    expect((await later.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(aborted).toBe(false);
    expect(tasks.runtime.gauges.watchedTasks).toBe(0);
  });

  it("before the claim check was written finds the task by its key", async () => {
    let calls = 0;
    const { serving: served } = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, () => {
          calls += 1;
          return "dug";
        }),
      { auth: "none" },
      SINGLE_USER,
    );
    const params = { name: "dig", task: {}, _meta: { "io.datalayer/idempotency-key": "k" } };
    const controller = new AbortController();
    new HttpClient(served.url).post("tools/call", params, { signal: controller.signal }).catch(() => {});
    await eventually(() => calls === 1);
    controller.abort();
    const { taskId } = await new HttpClient(served.url).callTask("dig", { _meta: params._meta });
    expect(taskId).toBeDefined();
    expect(calls).toBe(1);
  });
});

describe("a request outside a session", () => {
  it("of 2025 is served by itself: task, list, wait, result", async () => {
    for (const sessions of [true, false]) {
      const { serving: served } = await serving(
        (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
        { auth: "none", sessions },
        SINGLE_USER,
      );
      const { taskId } = await new HttpClient(served.url).callTask("dig");
      const client = new HttpClient(served.url);
      expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
      expect((await client.request("tasks/list")).result?.tasks).toMatchObject([{ taskId, status: "completed" }]);
    }
  });

  it("without authentication is nobody's: what needs a task is refused, a direct call is served", async () => {
    const { serving: served } = await serving((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
    );
    const client = new HttpClient(served.url);
    expect((await client.request("tools/call", { name: "dig", task: {} })).error?.code).toBe(-32600);
    expect((await client.request("tasks/list")).error?.code).toBe(-32600);
    expect((await client.request("tools/call", { name: "dig" })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("gets no session where there are none", async () => {
    const { serving: served } = await serving(() => {}, { auth: "none", sessions: false });
    const client = await session(served.url);
    expect(client.sessionId).toBeUndefined();
    expect((await fetch(served.url, { headers: client.headers })).status).toBe(405);
  });
});

it.each([true, false])(
  "a hundred clients with the same ids each get their own answer, in sessions: %s",
  async (inSessions) => {
    const { serving: served } = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
          return ctx.request.headers ?? null;
        }),
      { auth: "none" },
      { ...SINGLE_USER, keepHeaders: ["X-Nonce"] },
    );
    const answers = Array.from({ length: 100 }, async (_, i) => {
      const client = new HttpClient(served.url, { "x-nonce": `n${i}`, authorization: "Bearer secret" });
      if (inSessions) await client.initialize();
      const response = await client.post("tools/call", { name: "dig" }, { id: i % 3 });
      return (await replyOf(response)).result?.structuredContent;
    });
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, (_, i) => ({ "x-nonce": `n${i}` })));
  },
);
