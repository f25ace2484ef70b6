/** What a tool logs, as the client of its call hears it. */
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createTasks, type LogLevel, type TasksOptions, type ToolContext } from "../../src/index.js";
import { connectInMemory, DIALECTS, FakeClock, type TaskClient } from "../../src/testing/index.js";
import { modernScene, OFFICIAL } from "./modern-client.js";
import { gate, type RawClient } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const LEGACY = DIALECTS.filter((dialect) => dialect !== OFFICIAL);

const messages = ({ heard }: RawClient) =>
  heard.filter(({ method }) => method === "notifications/message").map(({ params }) => params);
const data = (client: RawClient) => messages(client).map((params) => params.data);

/** A client in a dialect, which hears everything, of a server whose one tool does `dig`. */
async function called(
  dialect: (typeof DIALECTS)[number],
  dig: (ctx: ToolContext) => unknown,
  options: TasksOptions & { inlineMs?: number } = {},
): Promise<{ client: TaskClient; all: { _meta: Record<string, string> } }> {
  const { inlineMs = 0, ...rest } = options;
  const tasks = createTasks(rest);
  const server = new McpServer({ name: "test", version: "0" });
  tasks.registerTool(server, "dig", { ...OPTIONAL, inlineMs }, (_args, ctx) => dig(ctx) as undefined);
  const client = await connectInMemory(tasks, server, { dialect });
  onTestFinished(async () => {
    await client.close();
    await tasks.close();
  });
  return { client, all: { _meta: dialect === OFFICIAL ? { [LOG_LEVEL]: "debug" } : {} } };
}

describe.each(DIALECTS)("a direct call in %s", (dialect) => {
  it("is heard before its answer: level, logger and data of any JSON kind", async () => {
    const told: boolean[] = [];
    const { client, all } = await called(dialect, ({ log }) => {
      told.push(log("info", "digging"), log("error", { depth: [1, null] }, "spade"), log("debug", null));
    });
    await client.call("dig", {}, all);
    expect(told).toEqual([true, true, true]);
    expect(messages(client.raw)).toEqual([
      { level: "info", data: "digging" },
      { level: "error", logger: "spade", data: { depth: [1, null] } },
      { level: "debug", data: null },
    ]);
    expect(client.raw.log.at(-1)).toHaveProperty("result");
  });

  it("is not heard after it", async () => {
    let left: ToolContext | undefined;
    const { client, all } = await called(dialect, (ctx) => {
      left = ctx;
    });
    await client.call("dig", {}, all);
    expect(left?.log("emergency", "late")).toBe(false);
    await client.request(dialect === OFFICIAL ? "server/discover" : "ping");
    expect(messages(client.raw)).toEqual([]);
  });

  it.each([
    ["no data", undefined],
    ["what JSON cannot carry", 1n],
    ["more than 64 KiB", "x".repeat(70_000)],
  ])("answers false for %s", async (_what, said) => {
    const told: boolean[] = [];
    const { client, all } = await called(dialect, (ctx) => {
      told.push(ctx.log("info", said as string), ctx.log("info", "after it"));
    });
    await client.call("dig", {}, all);
    expect(told).toEqual([false, true]);
    expect(data(client.raw)).toEqual(["after it"]);
  });

  it("refuses a level that is none with a list of them, heard or not", async () => {
    const { client, all } = await called(dialect, (ctx) => ctx.log("warn" as LogLevel, "x"));
    const refused = {
      isError: true,
      content: [{ text: expect.stringMatching(/must be one of debug, .*, emergency; got warn/) }],
    };
    expect(await client.call("dig", {}, all)).toMatchObject(refused);
    expect(await client.call("dig")).toMatchObject(refused);
  });
});

describe.each(LEGACY)("a task in %s", (dialect) => {
  it("is heard after its claim check, tied to it inside params", async () => {
    const { client } = await called(dialect, (ctx) => {
      const state = { depth: 1 };
      ctx.log("info", state, "spade");
      // What is held until the claim check is out is what was said.
      state.depth = 2;
      ctx.log("info", state);
    });
    const { taskId } = await client.create("dig");
    await eventually(() => messages(client.raw).length === 2);
    const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
    expect(messages(client.raw)).toEqual([
      { level: "info", logger: "spade", data: { depth: 1 }, _meta },
      { level: "info", data: { depth: 2 }, _meta },
    ]);
    const methods = client.raw.log.map((message) => ("method" in message ? message.method : "answer"));
    expect(methods.indexOf("notifications/message")).toBeGreaterThan(1);
    expect(methods.slice(0, methods.indexOf("notifications/message"))).toEqual(["answer", "answer"]);
  });

  it("says nothing any more once it has ended", async () => {
    let left: ToolContext | undefined;
    const { client } = await called(dialect, (ctx) => {
      left = ctx;
      ctx.log("info", "last");
    });
    const { taskId } = await client.create("dig");
    await client.waitUntil(taskId, "completed");
    expect(left?.log("emergency", "late")).toBe(false);
    await client.request("ping");
    expect(data(client.raw)).toEqual(["last"]);
  });

  it("takes back nothing that it has asked", async () => {
    const asked = gate();
    const { client } = await called(dialect, async (ctx) => {
      const answer = ctx.elicit({ message: "Where?", requestedSchema: { type: "object" } });
      await asked.promise;
      ctx.log("info", "asked");
      return answer;
    });
    const { taskId } = await client.create("dig");
    const question = await client.question(taskId);
    asked.open();
    await eventually(() => messages(client.raw).length === 1);
    await client.request("ping");
    expect(client.notifications.map(({ method }) => method)).not.toContain("notifications/cancelled");
    await question.answer({ action: "accept", content: {} });
    expect(await client.result(taskId)).toMatchObject({ structuredContent: { action: "accept" } });
  });
});

describe("a client of 2025", () => {
  function digging() {
    const told: boolean[] = [];
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
        told.push(ctx.log("info", "low"), ctx.log("warning", "high"));
      }),
    );
    return { connect, told };
  }

  it("finds logging in the server's capabilities", async () => {
    const { result } = await (await digging().connect("none")).initialize();
    expect(result?.capabilities).toHaveProperty("logging", {});
  });

  it("hears what is at least as bad as the level that it set, in direct calls and tasks", async () => {
    const { connect, told } = digging();
    const client = await connect();
    expect((await client.request("logging/setLevel", { level: "warning" })).result).toEqual({});
    await client.call("dig");
    await client.callTask("dig");
    await eventually(() => messages(client).length === 2);
    expect(data(client)).toEqual(["high", "high"]);
    expect(told).toEqual([false, true, false, true]);
  });

  it("sets it for its own session, at any time", async () => {
    const { connect } = digging();
    const [quiet, other] = [await connect(), await connect()];
    await quiet.request("logging/setLevel", { level: "emergency" });
    await quiet.call("dig");
    await other.call("dig");
    expect([data(quiet), data(other)]).toEqual([[], ["low", "high"]]);
    await quiet.request("logging/setLevel", { level: "debug" });
    await quiet.call("dig");
    expect(data(quiet)).toEqual(["low", "high"]);
  });

  it("is refused a level that is none, which changes nothing", async () => {
    const client = await digging().connect();
    await client.request("logging/setLevel", { level: "warning" });
    for (const level of ["loud", undefined, 3]) {
      expect((await client.request("logging/setLevel", { level })).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(`must be one of debug, info, notice`),
      });
    }
    await client.call("dig");
    expect(data(client)).toEqual(["high"]);
  });

  it("that is gone hears nothing, and the tool is told so; who retries hears the rest", async () => {
    const [first, second] = [gate(), gate()];
    const told: boolean[] = [];
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          await first.promise;
          told.push(ctx.log("info", "to nobody"));
          await second.promise;
          told.push(ctx.log("info", "to the second"));
        }),
      { ownership: "single-user" },
    );
    const _meta = { "io.datalayer/idempotency-key": "k" };
    const gone = await connect();
    await gone.callTask("dig", { _meta });
    await gone.close();
    first.open();
    await eventually(() => told.length === 1);
    const client = await connect();
    await client.callTask("dig", { _meta });
    second.open();
    await eventually(() => messages(client).length > 0);
    expect(told).toEqual([false, true]);
    expect([data(gone), data(client)]).toEqual([[], ["to the second"]]);
  });
});

describe("a client of 2026-07-28", () => {
  it("finds logging in the server's capabilities", async () => {
    const { connect } = await modernScene(() => {});
    expect((await connect().request("server/discover")).result?.capabilities).toHaveProperty("logging", {});
  });

  it("hears nothing of a call that does not ask for it, whatever another one asks for", async () => {
    const told: boolean[] = [];
    const { client, all } = await called(OFFICIAL, (ctx) => {
      told.push(ctx.log("emergency", "fire"));
    });
    await client.call("dig", {}, all);
    await client.call("dig");
    expect(told).toEqual([true, false]);
    expect(data(client.raw)).toEqual(["fire"]);
  });

  it("hears what is at least as bad as the level that the call asks for", async () => {
    const { client } = await called(OFFICIAL, (ctx) => {
      for (const level of ["warning", "error", "critical"] as const) ctx.log(level, level);
    });
    await client.call("dig", {}, { _meta: { [LOG_LEVEL]: "error" } });
    expect(data(client.raw)).toEqual(["error", "critical"]);
  });

  it.each([true, false])("hears nothing of a task once it has the claim check (fast path: %s)", async (fastPath) => {
    const running = gate();
    const told: boolean[] = [];
    const dig = async (ctx: ToolContext) => {
      await running.promise;
      told.push(ctx.log("emergency", "fire"));
    };
    const { client, all } = await called(OFFICIAL, dig, { fastPath });
    const { taskId } = await client.create("dig", {}, all);
    await client.listen([taskId]);
    running.open();
    await client.waitUntil(taskId, "completed");
    expect(told).toEqual([false]);
    expect(messages(client.raw)).toEqual([]);
  });

  it("hears a call whose answer is held for quick work, as if there were no task", async () => {
    const { client, all } = await called(OFFICIAL, (ctx) => void ctx.log("info", "quick"), {
      inlineMs: 60_000,
      clock: new FakeClock(),
    });
    await expect(client.create("dig", {}, all)).rejects.toThrow("without a task");
    expect(messages(client.raw)).toEqual([{ level: "info", data: "quick" }]);
  });

  it("hears a call that asks in rounds in each round that asks for it", async () => {
    const { connect } = await modernScene((tasks, server) =>
      tasks.registerTool(server, "dig", {}, async (_args, ctx) => {
        ctx.log("info", "before");
        await ctx.elicit({ message: "Where?", requestedSchema: { type: "object" } });
        ctx.log("info", "between");
        await ctx.elicit({ message: "How?", requestedSchema: { type: "object" } });
        ctx.log("info", "after");
      }),
    );
    const client = connect({ extensions: [], capabilities: { elicitation: {} } });
    const _meta = { [LOG_LEVEL]: "info" };
    const next = async ({ result }: { result?: Record<string, unknown> }, extra: object) => {
      const [key = ""] = Object.keys(result?.inputRequests as object);
      const inputResponses = { [key]: { action: "accept", content: {} } };
      return client.call("dig", { requestState: result?.requestState, inputResponses, ...extra });
    };
    const second = await next(await client.call("dig", { _meta }), {});
    await next(second, { _meta });
    expect(data(client.raw)).toEqual(["before", "after"]);
  });
});

it("a call that may go on as a task is heard until it is answered", async () => {
  const clock = new FakeClock();
  let ctx: ToolContext | undefined;
  const { connect } = scene(
    (tasks, server) =>
      tasks.registerTool(server, "dig", { ...OPTIONAL, promoteAfterMs: 1000 }, (_args, given) => {
        ctx = given;
        given.log("info", "clay");
        return given.cancelToken.wait().then(() => "stopped");
      }),
    { fallbackTools: true, clock },
  );
  const client = await connect();
  const call = client.call("dig");
  await eventually(() => messages(client).length === 1);
  await clock.advance(1000);
  await call;
  expect(ctx?.log("info", "rock")).toBe(false);
  await client.request("ping");
  expect(messages(client)).toEqual([{ level: "info", data: "clay" }]);
});

it("what is logged is not in the server's own log", async () => {
  const lines: unknown[] = [];
  const line = (...args: unknown[]): void => void lines.push(args);
  const logger = { debug: line, info: line, warn: line, error: line };
  const dig = (ctx: ToolContext) => void ctx.log("emergency", "planted");
  const { client } = await called("2025-11-25", dig, { logger });
  await client.call("dig");
  await client.create("dig");
  await eventually(() => messages(client.raw).length === 2);
  expect(JSON.stringify(lines)).not.toContain("planted");
});
