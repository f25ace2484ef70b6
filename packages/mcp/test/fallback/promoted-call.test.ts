/** A direct call that takes longer than its tool's limit answers a handle, and its work goes on as a task. */
import type { JsonObject } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createTasks, type ToolContext } from "../../src/index.js";
import { modernScene } from "../wire/modern-client.js";
import { gate, type RawClient, type Reply } from "../wire/raw-client.js";
import { scene, silent, untilStopped } from "../wire/servers.js";

const PROMOTED = { execution: { taskSupport: "optional" }, promoteAfterMs: 1000 } as const;

/** Whose direct calls go on after a second of a clock that stands still until it is told to move. */
function promoting(dig: (ctx: ToolContext) => unknown, config: object = {}, options: object = {}) {
  const clock = new FakeClock();
  const { tasks, connect } = scene(
    (bound, server) => bound.registerTool(server, "dig", { ...PROMOTED, ...config }, (_args, ctx) => dig(ctx) as never),
    { fallbackTools: true, ownership: "single-user", clock, ...options },
  );
  return { tasks, connect, clock };
}

interface Handle {
  task: { taskId: string; status: string; statusMessage?: string; tool: string };
  output: string;
  next: string;
  questions?: JsonObject[];
}

const handleOf = (reply: Reply): Handle => reply.result?.structuredContent as unknown as Handle;
const contentOf = ({ result }: Reply) => (result?.content ?? []) as JsonObject[];
const runs = (tasks: { runtime: { gauges: { running: number } } }) => tasks.runtime.gauges.running;

it("a call that is done in time answers as if there were no task, whatever it comes to", async () => {
  const { connect } = scene(
    (tasks, server) => {
      for (const config of [PROMOTED, { ...PROMOTED, promoteAfterMs: undefined as never }]) {
        const name = config.promoteAfterMs === undefined ? "plain" : "promoted";
        tasks.registerTool(server, `${name}_ok`, config, () => ({ feet: 3 }));
        tasks.registerTool(server, `${name}_throws`, config, () => Promise.reject(new Error("rock")));
        tasks.registerTool(server, `${name}_fails`, config, () => ({
          content: [],
          isError: true,
          _meta: { "v/x": 1 },
        }));
        tasks.registerTool(server, `${name}_invalid`, { ...config, outputSchema: z.object({ a: z.string() }) }, () => ({
          a: 1 as never,
        }));
      }
    },
    { fallbackTools: true },
  );
  const client = await connect();
  for (const what of ["ok", "throws", "fails", "invalid"]) {
    const plain = await client.call(`plain_${what}`);
    const promoted = await client.call(`promoted_${what}`);
    const text = JSON.stringify({ ...promoted, id: 0 }).replaceAll("promoted", "plain");
    expect(text).toBe(JSON.stringify({ ...plain, id: 0 }));
  }
});

it("a call that takes longer answers its output so far and a handle, and its result is collected once it is there", async () => {
  const digging = gate<string>();
  const { tasks, connect, clock } = promoting(({ task }) => {
    task?.recordOutput(["clay", { type: "image", data: "AA==", mimeType: "image/png" }]);
    return digging.promise;
  });
  const client = await connect();
  const call = client.call("dig");
  await eventually(() => runs(tasks) === 1);
  await clock.advance(999);
  await client.request("ping");
  await clock.advance(1);
  const reply = await call;
  expect(handleOf(reply)).toMatchObject({ task: { status: "working", tool: "dig" }, output: "clay" });
  const [clay, image, next] = contentOf(reply);
  expect([clay?.text, image?.type]).toEqual(["clay", "image"]);
  expect(next?.text).toContain(handleOf(reply).task.taskId);
  expect(next?.text).toContain("task_result");
  expect(reply.result?.isError).toBeUndefined();

  const other = await connect();
  const result = other.call("task_result", { arguments: { task_id: handleOf(reply).task.taskId } });
  digging.open("dug");
  expect((await result).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("a call of somebody who can own no task is not promoted, and runs to its end", async () => {
  const digging = gate<string>();
  const { tasks, connect, clock } = promoting(() => digging.promise, {}, { ownership: "principal" });
  const client = await connect();
  const call = client.call("dig");
  await clock.advance(3_600_000);
  await client.request("ping");
  expect(tasks.runtime.gauges.attempts).toBe(0);
  digging.open("dug");
  expect((await call).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("by default there is no tool to collect by, and a tool that needs one is refused with the reason", async () => {
  const { connect } = scene((tasks, server) => {
    const config = { ...PROMOTED, description: "Digs." };
    expect(() => tasks.registerTool(server, "dig", config, () => "dug")).toThrow(
      "promoteAfterMs of tool dig needs createTasks({ fallbackTools: true })",
    );
    tasks.registerTool(server, "plain", {}, () => "dug");
  });
  const { result } = await (await connect()).request("tools/list");
  expect(result).toMatchObject({ tools: [{ name: "plain" }] });
  expect((result as { tools: unknown[] }).tools).toHaveLength(1);
});

it("progress is told until the call is answered, and not after", async () => {
  let ctx: ToolContext | undefined;
  const { tasks, connect, clock } = promoting((given) => {
    ctx = given;
    ctx.sendProgress(1, { total: 3, message: "clay" });
    return untilStopped(ctx);
  });
  const client = await connect();
  const call = client.call("dig", { _meta: { progressToken: 0 } });
  await eventually(() => client.heard.length === 1);
  await clock.advance(1000);
  await call;
  ctx?.sendProgress(2);
  await client.request("ping");
  expect(client.heard).toEqual([
    {
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 0, progress: 1, total: 3, message: "clay" },
    },
  ]);
  expect(runs(tasks)).toBe(1);
});

it("a caller that cancels before has the work stopped; one that cancels the answered call stops nothing", async () => {
  const { tasks, connect, clock } = promoting(untilStopped);
  const client = await connect();
  const cancelled = (requestId: number) =>
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  void client.request("tools/call", { name: "dig", arguments: {} }, 1);
  await eventually(() => runs(tasks) === 1);
  await cancelled(1);
  await eventually(() => tasks.runtime.gauges.attempts === 0);
  expect((await tasks.runtime.list('["single-user"]')).tasks).toMatchObject([{ status: "cancelled" }]);

  const call = client.request("tools/call", { name: "dig", arguments: {} }, 2);
  await eventually(() => runs(tasks) === 1);
  await clock.advance(1000);
  const { taskId } = handleOf(await call).task;
  await cancelled(2);
  await client.request("ping");
  expect(await tasks.runtime.get('["single-user"]', taskId)).toMatchObject({ status: "working" });
});

it("a caller whose connection ends before has the work stopped; after, it goes on", async () => {
  const { tasks, connect, clock } = promoting(untilStopped);
  const left = await connect();
  void left.call("dig");
  await eventually(() => runs(tasks) === 1);
  await left.close();
  await eventually(() => tasks.runtime.gauges.attempts === 0);

  const client = await connect();
  const call = client.call("dig");
  await eventually(() => runs(tasks) === 1);
  await clock.advance(1000);
  await call;
  await client.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(runs(tasks)).toBe(1);
});

it("a call that did not ask for a task is not deduplicated, and its key stays free", async () => {
  let count = 0;
  const { connect } = promoting(() => `${++count}`);
  const client = await connect();
  const _meta = { "io.datalayer/idempotency-key": "k" };
  for (const n of ["1", "2"]) {
    expect((await client.call("dig", { _meta })).result).toMatchObject({ content: [{ text: n }] });
  }
  expect((await client.callTask("dig", { _meta })).status).toBe("working");
  await eventually(() => count === 3);
});

it("arguments are validated before there is a task, and the handler gets what the schema made of them", async () => {
  const seen: unknown[] = [];
  const { tasks, connect } = scene(
    (bound, server) =>
      bound.registerTool(
        server,
        "dig",
        { ...PROMOTED, inputSchema: z.object({ feet: z.coerce.number(), tool: z.string().default("spade") }) },
        (args) => void seen.push(args),
      ),
    { fallbackTools: true, ownership: "single-user" },
  );
  const client = await connect();
  expect((await client.call("dig", { arguments: { feet: "x" } })).result).toMatchObject({ isError: true });
  expect((await tasks.runtime.list('["single-user"]')).tasks).toEqual([]);
  await client.call("dig", { arguments: { feet: "3" } });
  expect(seen).toEqual([{ feet: 3, tool: "spade" }]);
  const [made] = (await tasks.runtime.list('["single-user"]')).tasks;
  expect(await tasks.runtime.get('["single-user"]', made?.taskId ?? "")).toMatchObject({ arguments: { feet: "3" } });
});

it("a task that is kept for no time answers its call all the same", async () => {
  const { connect } = promoting(() => "dug", { ttl: 0 });
  expect((await (await connect()).call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("a caller who may not wait is told at once where its work goes on", async () => {
  const { connect } = promoting(untilStopped, {}, { limits: { waitersPerOwner: 0 } });
  expect(handleOf(await (await connect()).call("dig")).task.status).toBe("working");
});

it("a call that may not become a task is refused as one, and nothing runs", async () => {
  let count = 0;
  const { connect, clock } = promoting(
    (ctx) => {
      count += 1;
      return untilStopped(ctx);
    },
    {},
    { limits: { tasksPerOwner: 1 } },
  );
  const client = await connect();
  const call = client.call("dig");
  await eventually(() => count === 1);
  await clock.advance(1000);
  await call;
  expect((await client.call("dig")).error).toMatchObject({ code: -32005, data: { limit: "tasksPerOwner" } });
  expect(count).toBe(1);
});

it("a call that somebody else cancels says so, after what it had produced", async () => {
  const { tasks, connect } = promoting(({ task, signal }) => {
    task?.recordOutput(["clay"]);
    return untilStopped({ signal });
  });
  const client = await connect();
  const call = client.call("dig");
  await eventually(() => runs(tasks) === 1);
  const [task] = (await tasks.runtime.list('["single-user"]')).tasks;
  await tasks.runtime.cancel('["single-user"]', task?.taskId ?? "");
  const { result } = await call;
  expect(result?.isError).toBe(true);
  expect(result?.content).toEqual([
    { type: "text", text: "clay" },
    { type: "text", text: `Task ${task?.taskId} was cancelled.` },
  ]);
});

it("a call that fails shows what it had produced until then", async () => {
  const { connect } = promoting(({ task }) => {
    task?.recordOutput(["clay"]);
    throw new Error("rock");
  });
  const { result } = await (await connect()).call("dig");
  expect(result).toMatchObject({ isError: true, content: [{ text: "clay" }, { text: "rock" }] });
});

describe("a tool with an output schema", () => {
  const Dug = z.object({ feet: z.number() }).strict();

  it("a tool's output schema is listed so that it allows a handle, which the listing's own validator accepts", async () => {
    const { tasks, connect, clock } = promoting(untilStopped, { outputSchema: Dug });
    const client = await connect();
    const tools = (await client.request("tools/list")).result?.tools as { name: string; outputSchema: JsonObject }[];
    const schema = tools.find(({ name }) => name === "dig")?.outputSchema as JsonObject;
    expect(schema.type).toBe("object");
    const { CfWorkerJsonSchemaValidator } = await import("@modelcontextprotocol/server/validators/cf-worker");
    const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/server/validators/ajv");
    const call = client.call("dig");
    await eventually(() => runs(tasks) === 1);
    await clock.advance(1000);
    const handle = handleOf(await call);
    for (const validator of [new CfWorkerJsonSchemaValidator(), new AjvJsonSchemaValidator()]) {
      const check = validator.getValidator(structuredClone(schema));
      expect(check(handle).valid).toBe(true);
      expect(check({ feet: 3 }).valid).toBe(true);
      expect(check({ feet: "three" }).valid).toBe(false);
      expect(check({}).valid).toBe(false);
    }
  });

  it("what the tool itself returns is held to its own schema", async () => {
    const looksLikeOne = { task: { taskId: "t", status: "working" }, output: "", next: "" };
    const { connect } = promoting(() => looksLikeOne, { outputSchema: Dug });
    const { result } = await (await connect()).call("dig");
    expect(result?.isError).toBe(true);
    expect(JSON.stringify(result?.content)).toContain("Output validation error");
  });
});

it.each(["required", "forbidden", undefined])("a tool with taskSupport %s cannot be promoted", (taskSupport) => {
  const tasks = createTasks({ logger: silent, fallbackTools: true });
  const config = { promoteAfterMs: 1000, ...(taskSupport !== undefined && { execution: { taskSupport } }) };
  expect(() =>
    tasks.registerTool(new McpServer({ name: "t", version: "0" }), "dig", config as typeof PROMOTED, () => ""),
  ).toThrow(/promoteAfterMs of tool dig needs taskSupport "optional"/);
});

it.each([-1, Number.NaN, "5", null])("promoteAfterMs %j is refused", (promoteAfterMs) => {
  const tasks = createTasks({ logger: silent });
  const config = { ...PROMOTED, promoteAfterMs: promoteAfterMs as number };
  expect(() => tasks.registerTool(new McpServer({ name: "t", version: "0" }), "dig", config, () => "")).toThrow(
    "promoteAfterMs must be a finite number of at least 0",
  );
});

// --- questions ---------------------------------------------------------------------------------------------------

const FORM = {
  message: "How deep?",
  requestedSchema: { type: "object", properties: { feet: { type: "number" } }, required: ["feet"] },
} as const;

const asks = async (ctx: ToolContext) => JSON.stringify(await ctx.elicit(FORM));

async function answered(client: RawClient, answer: unknown): Promise<void> {
  await eventually(() => client.heard.some(({ method }) => method === "elicitation/create"));
  const asked = client.log.find((message) => "method" in message && message.method === "elicitation/create") as Reply;
  await client.send({ jsonrpc: "2.0", id: asked.id, result: answer });
}

it("a client of 2025 that can be asked is asked while its call waits", async () => {
  const { connect } = promoting(asks);
  const client = await connect({ capabilities: { elicitation: {} } });
  const call = client.call("dig");
  await answered(client, { action: "accept", content: { feet: 3 } });
  expect((await call).result).toMatchObject({ content: [{ text: '{"action":"accept","content":{"feet":3}}' }] });
});

it("an answer that comes when the call has been answered counts as well", async () => {
  const { tasks, connect, clock } = promoting(asks);
  const client = await connect({ capabilities: { elicitation: {} } });
  const call = client.call("dig");
  await eventually(() => client.heard.length === 1);
  await clock.advance(1000);
  const handle = handleOf(await call);
  expect(handle.task.status).toBe("input_required");
  await answered(client, { action: "decline" });
  await eventually(() => runs(tasks) === 0);
  const { result } = await client.call("task_result", { arguments: { task_id: handle.task.taskId } });
  expect(result).toMatchObject({ content: [{ text: '{"action":"decline"}' }] });
});

it("a client that cannot be asked is told at once what is asked, and answers by task_answer", async () => {
  const { connect } = promoting(asks);
  const client = await connect();
  const handle = handleOf(await client.call("dig"));
  expect(handle.task.status).toBe("input_required");
  const [question] = handle.questions as { question: string }[];
  expect(question).toEqual({ question: expect.any(String), ...FORM });
  expect(client.heard).toEqual([]);
  const task_id = handle.task.taskId;
  const answer = (content: object) =>
    client.call("task_answer", { arguments: { task_id, question: question?.question, content } });
  const refused = await answer({ feet: "three" });
  expect(refused.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("requested schema") }],
  });
  expect(handleOf(await answer({ feet: 3 })).task.status).toBe("working");
  expect((await client.call("task_result", { arguments: { task_id } })).result).toMatchObject({
    content: [{ text: '{"action":"accept","content":{"feet":3}}' }],
  });
});

it("two questions at once are told together", async () => {
  const { connect } = promoting(async (ctx) => Promise.all([ctx.elicit(FORM), ctx.elicit(FORM)]));
  const handle = handleOf(await (await connect()).call("dig"));
  expect(handle.questions).toHaveLength(2);
});

it("a client of 2026 is asked in rounds of its call, and a round may outlast the limit", async () => {
  const clock = new FakeClock();
  const { connect } = await modernScene(
    (tasks, server) =>
      tasks.registerTool(server, "dig", PROMOTED, async (_args, ctx) => {
        const first = await ctx.elicit(FORM);
        ctx.task?.recordOutput([JSON.stringify(first)]);
        return untilStopped(ctx);
      }),
    { fallbackTools: true, clock },
  );
  const client = connect({ extensions: [], capabilities: { elicitation: {} } });
  const first = (await client.call("dig")).result;
  expect(first).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
  const [key] = Object.keys(first?.inputRequests as object);
  const round = (inputResponses: object) => client.call("dig", { inputResponses, requestState: first?.requestState });
  expect((await round({ [key as string]: { action: "accept", content: {} } })).error?.code).toBe(-32602);
  const idle = clock.pending;
  const second = round({ [key as string]: { action: "accept", content: { feet: 3 } } });
  await eventually(() => clock.pending > idle);
  await clock.advance(1000);
  expect(handleOf(await second)).toMatchObject({
    task: { status: "working" },
    output: '{"action":"accept","content":{"feet":3}}',
  });
});

it("a round of somebody else's call, or of another tool's, is refused", async () => {
  const { connect } = await modernScene(
    (tasks, server) => {
      tasks.registerTool(server, "dig", PROMOTED, (_args, ctx) => asks(ctx));
      tasks.registerTool(server, "fill", PROMOTED, (_args, ctx) => asks(ctx));
    },
    { fallbackTools: true, ownership: "session" },
  );
  const declares = { extensions: [], capabilities: { elicitation: {} } };
  const client = connect(declares);
  const { result } = await client.call("dig");
  const { requestState } = result as { requestState: string };
  const inputResponses = {};
  for (const [who, tool] of [
    [connect(declares), "dig"],
    [client, "fill"],
  ] as const) {
    expect((await who.call(tool, { requestState, inputResponses })).error).toMatchObject({ code: -32602 });
  }
});
