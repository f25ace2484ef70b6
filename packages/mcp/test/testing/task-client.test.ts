/** The in-memory client: one test, every dialect. */
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { createTasks, type ToolContext } from "../../src/index.js";
import { type ConnectOptions, connectInMemory, DIALECTS, FakeClock, WireError } from "../../src/testing/index.js";
import { silent } from "../wire/servers.js";

const OPTIONAL = { execution: { taskSupport: "optional" } } as const;
const CONFIRM = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;

describe.each(DIALECTS)("%s", (dialect) => {
  function served(tool: (args: { depth: number }, ctx: ToolContext) => unknown, options: object = {}) {
    const tasks = createTasks({ logger: silent, ownership: "single-user", ...options });
    onTestFinished(() => tasks.close());
    const config = { ...OPTIONAL, inputSchema: z.object({ depth: z.number().default(1) }) };
    const createServer = () => {
      const server = new McpServer({ name: "test", version: "0" });
      tasks.registerTool(server, "dig", config, tool);
      return server;
    };
    return async (declares: ConnectOptions = {}) => {
      const client = await connectInMemory(tasks, createServer, { dialect, ...declares });
      onTestFinished(() => client.close());
      return client;
    };
  }

  const sure = (_args: object, ctx: ToolContext) => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM });
  const endless = async (_args: object, ctx: ToolContext) => {
    ctx.task?.recordOutput(["one foot"]);
    await ctx.cancelToken.wait();
    ctx.cancelToken.checkCancelled();
  };

  it("calls directly, and as a task whose result is the same", async () => {
    const client = await served(({ depth }, ctx) => ({ feet: depth * 3, isTask: ctx.task !== null }))();
    expect((await client.call("dig", { depth: 2 })).structuredContent).toEqual({ feet: 6, isTask: false });
    const task = await client.create("dig");
    expect(task).toMatchObject({ status: "working", ttlMs: 900_000, pollIntervalMs: expect.any(Number) });
    expect((await client.result(task.taskId)).structuredContent).toEqual({ feet: 3, isTask: true });
    expect(await client.waitUntil(task.taskId, "completed")).toMatchObject({ taskId: task.taskId });
  });

  it("cancels, shows what there is so far, and collects what was produced", async () => {
    const client = await served(endless)();
    const { taskId } = await client.create("dig");
    const working = await client.get(taskId, { partialOutput: true });
    expect(working).toMatchObject({ status: "working", partialOutput: ["one foot"] });
    expect(await client.cancel(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(await client.result(taskId)).toMatchObject({ content: [{ text: "one foot" }] });
    await expect(client.waitUntil(taskId, "completed")).rejects.toThrow("ended cancelled");
  });

  it("a question of a task is answered by this connection or by another one", async () => {
    const connect = served(sure);
    const [client, other] = [await connect(), await connect()];
    for (const answering of [client, other]) {
      const { taskId } = await client.create("dig");
      const question = await answering.question(taskId);
      expect(question).toMatchObject({ method: "elicitation/create", params: { message: "Sure?" } });
      await question.answer({ action: "accept", content: { sure: true } });
      const answer = { action: "accept", content: { sure: true } };
      expect((await client.result(taskId)).structuredContent).toEqual(answer);
      await expect(client.question(taskId)).rejects.toThrow("ended completed");
    }
  });

  it("a person who answers everything answers tasks and direct calls alike", async () => {
    const asked: string[] = [];
    const client = await served(sure)({
      answer: ({ method }) => {
        asked.push(method);
        return { action: "accept", content: { sure: true } };
      },
    });
    const answer = { action: "accept", content: { sure: true } };
    expect((await client.call("dig")).structuredContent).toEqual(answer);
    const { taskId } = await client.create("dig");
    await client.waitUntil(taskId, "completed");
    expect((await client.result(taskId)).structuredContent).toEqual(answer);
    expect(asked).toEqual(["elicitation/create", "elicitation/create"]);
  });

  it("a client that can be asked nothing is asked nothing", async () => {
    const client = await served(sure)({ capabilities: {} });
    const { taskId } = await client.create("dig");
    const text = await client.result(taskId).then(JSON.stringify as (result: unknown) => string, String);
    expect(text).toContain("did not declare");
  });

  it("errors are thrown with code and data", async () => {
    const client = await served(() => "dug")();
    await expect(client.get("tsk_x")).rejects.toMatchObject({
      name: "WireError",
      code: -32602,
      message: "No such task.",
    });
    const named = { _meta: { "io.datalayer/idempotency-key": "" } };
    await expect(client.create("dig", {}, named)).rejects.toBeInstanceOf(WireError);
  });

  it("a key makes a retry one task", async () => {
    const client = await served(endless)();
    const [first, second] = [
      await client.create("dig", {}, { idempotencyKey: "k" }),
      await client.create("dig", {}, { idempotencyKey: "k" }),
    ];
    expect(second.taskId).toBe(first.taskId);
  });

  it("time is the test's, where the tasks have its clock", async () => {
    const clock = new FakeClock();
    const client = await served(() => "dug", { clock, defaultTtlMs: 1000 })();
    const { taskId } = await client.create("dig");
    await client.waitUntil(taskId, "completed");
    await clock.advance(1000);
    await expect(client.get(taskId)).rejects.toThrow("No such task.");
  });

  it("a result is waited for however long it takes", async () => {
    let digUp = (): void => {};
    const dug = new Promise<string>((resolve) => (digUp = () => resolve("dug")));
    const client = await served(() => dug, { clock: new FakeClock() })();
    const { taskId } = await client.create("dig");
    let hours = 0;
    const now = vi.spyOn(Date, "now").mockImplementation(() => 3_600_000 * hours++);
    onTestFinished(() => now.mockRestore());
    const result = client.result(taskId);
    await client.get(taskId);
    digUp();
    expect(await result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("waiting in vain ends, and says how the task stands", async () => {
    const client = await served(endless)();
    const { taskId } = await client.create("dig");
    await expect(client.waitUntil(taskId, "completed", 20)).rejects.toThrow("After 20 ms the task is working");
    await expect(client.question(taskId, 20)).rejects.toThrow("After 20 ms the task is working");
  });
});

it.each(["2025-11-25", "io.datalayer/tasks"] as const)("%s lists, and takes a ttl", async (dialect) => {
  const tasks = createTasks({ logger: silent });
  onTestFinished(() => tasks.close());
  const server = new McpServer({ name: "test", version: "0" });
  tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
  const client = await connectInMemory(tasks, server, { dialect });
  onTestFinished(() => client.close());
  expect(await client.list()).toEqual({ tasks: [] });
  const { taskId, ttlMs } = await client.create("dig", {}, { ttlMs: 5000, _meta: { progressToken: 0 } });
  expect(ttlMs).toBe(5000);
  expect((await client.list()).tasks).toMatchObject([{ taskId }]);
  await client.waitUntil(taskId, "completed");
  expect(client.notifications.map(({ method }) => method)).toContain("notifications/tasks/status");
  await expect(client.update(taskId, {})).rejects.toMatchObject({ code: -32601 });
});

it("2026-07-28 lists nothing, takes no ttl, and refuses an answer that does not fit", async () => {
  const tasks = createTasks({ logger: silent });
  onTestFinished(() => tasks.close());
  const server = new McpServer({ name: "test", version: "0" });
  tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) =>
    ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM }),
  );
  const client = await connectInMemory(tasks, server, { dialect: "io.modelcontextprotocol/tasks" });
  onTestFinished(() => client.close());
  await expect(client.list()).rejects.toMatchObject({ code: -32601 });
  await expect(client.create("dig", {}, { ttlMs: 5 })).rejects.toThrow("no say in ttlMs");
  const { taskId } = await client.create("dig");
  const question = await client.question(taskId);
  await expect(question.answer({ action: "accept", content: {} })).rejects.toMatchObject({ code: -32602 });
  await question.answer({ action: "decline" });
  expect(await client.result(taskId)).toMatchObject({ structuredContent: { action: "decline" } });
});

it("2026-07-28 tells of the tasks that it is asked to; a revision without subscriptions refuses", async () => {
  const tasks = createTasks({ logger: silent });
  onTestFinished(() => tasks.close());
  const createServer = () => {
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) =>
      ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM }),
    );
    return server;
  };
  const client = await connectInMemory(tasks, createServer, { dialect: "io.modelcontextprotocol/tasks" });
  onTestFinished(() => client.close());
  const { taskId } = await client.create("dig");
  await client.listen([taskId]);
  await (await client.question(taskId)).answer({ action: "decline" });
  await client.waitUntil(taskId, "completed");
  const told = client.notifications.filter(({ method }) => method === "notifications/tasks");
  expect(told.at(-1)?.params).toMatchObject({ taskId, status: "completed" });
  const older = await connectInMemory(tasks, createServer);
  onTestFinished(() => older.close());
  await expect(older.listen([taskId])).rejects.toMatchObject({ code: -32601 });
});
