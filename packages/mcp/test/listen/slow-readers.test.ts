/** What a subscriber costs who does not read, and what it gets once it does. */
import { FakeClock } from "@claimcheck/core/testing";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { createTasks, type ToolContext } from "../../src/index.js";
import { HttpListening } from "../../src/listen/http.js";
import { listenRequestOf } from "../../src/listen/request.js";
import { messagesOf } from "../http/http-client.js";
import { envelope } from "../wire/raw-client.js";
import { OPTIONAL, silent } from "../wire/servers.js";
import type { Message } from "./carriers.js";

const TASKS = "io.modelcontextprotocol/tasks";
const OWNER = JSON.stringify(["single-user"]);

/** Subscriptions whose streams nobody reads before the test does: without a socket in between, which would take much. */
async function scene(tasksCount: number) {
  const clock = new FakeClock();
  const tasks = createTasks({ logger: silent, ownership: "single-user", cancelGraceMs: 0 });
  await tasks.open();
  onTestFinished(() => tasks.close());
  const runs = new Map<string, { ctx: ToolContext; end: (text: string) => void }>();
  const factory = () => {
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(
      server,
      "dig",
      OPTIONAL,
      (_args, ctx) =>
        new Promise<string>((end) => {
          runs.set(ctx.task?.taskId ?? "", { ctx, end });
        }),
    );
    return server;
  };
  factory();
  const taskIds: string[] = [];
  for (let n = 0; n < tasksCount; n += 1) {
    const { task } = await tasks.runtime.create({
      owner: OWNER,
      toolName: "dig",
      arguments: {},
      ttlMs: undefined,
      request: { owner: OWNER },
      input: {},
    });
    taskIds.push(task.taskId);
  }
  await eventually(() => runs.size === tasksCount);
  const errors: Error[] = [];
  const { subscriptions } = tasks;
  const listening = new HttpListening({ subscriptions, clock, onerror: (error) => void errors.push(error) });
  const handler = createMcpHandler(factory);
  let nextId = 1;
  const listen = async (notifications: object): Promise<Response> => {
    const params = { notifications, _meta: envelope(TASKS) };
    const request = { jsonrpc: "2.0", id: nextId++, method: "subscriptions/listen", params };
    const asked = listenRequestOf(request);
    if (asked === undefined) throw new Error("it asks for no tasks");
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    };
    const { signal } = new AbortController();
    const forwarded = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(request) });
    return listening.serve(asked, undefined, signal, () => handler.fetch(forwarded, { parsedBody: asked.rest }));
  };
  const run = (taskId: string) => {
    const found = runs.get(taskId);
    if (found?.ctx.task == null) throw new Error("it does not run");
    return { ...found, task: found.ctx.task };
  };
  return { tasks, clock, taskIds, run, listen, listening, handler, errors };
}

/** Everything on the stream, to its end. */
async function all(response: Response): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  return messages;
}

const LONG = "x".repeat(900);

describe("a subscriber who does not read", () => {
  it("gets, once it does, what was kept in order, and then each task as it is: never an old state after a new one", async () => {
    const { taskIds, run, listen } = await scene(3);
    const response = await listen({ taskIds });
    for (let turn = 0; turn < 1000; turn += 1) {
      for (const taskId of taskIds) await run(taskId).task.setWorking(`${turn} ${LONG}`);
    }
    for (const taskId of taskIds) run(taskId).end("dug");
    const messages = await all(response);
    // A megabyte is kept; three thousand changes of a kilobyte each there were.
    expect(messages.length).toBeLessThan(1500);
    expect(messages.length).toBeGreaterThan(500);
    for (const taskId of taskIds) {
      const of = messages.map(({ params }) => params ?? {}).filter((params) => params.taskId === taskId);
      const turns = of.slice(1, -1).map(({ statusMessage }) => Number.parseInt(String(statusMessage), 10));
      expect(turns).toEqual([...turns].sort((a, b) => a - b));
      expect(new Set(turns).size).toBe(turns.length);
      expect(of.at(-1)).toMatchObject({ status: "completed", result: { content: [{ text: "dug" }] } });
    }
    expect(messages.at(-1)).toMatchObject({ result: { resultType: "complete" } });
  }, 20_000);

  it("that has caught up gets every change again", async () => {
    const { taskIds, run, listen } = await scene(1);
    const [taskId = ""] = taskIds;
    const response = await listen({ taskIds });
    for (let turn = 0; turn < 2000; turn += 1) await run(taskId).task.setWorking(`${turn} ${LONG}`);
    const statuses: string[] = [];
    const reading = (async () => {
      for await (const { params } of messagesOf(response))
        statuses.push(String(params?.statusMessage).split(" ")[0] ?? "");
    })();
    await eventually(() => statuses.at(-1) === "1999");
    for (let turn = 2000; turn < 2100; turn += 1) await run(taskId).task.setWorking(`${turn} ${LONG}`);
    run(taskId).end("dug");
    await reading;
    const later = statuses.slice(statuses.indexOf("1999") + 1, -2);
    expect(later).toEqual(Array.from({ length: 100 }, (_, n) => String(2000 + n)));
  }, 20_000);

  it("is not read for ahead: what it is told at first of many large results is read when it has room", async () => {
    const { tasks, taskIds, run, listen } = await scene(30);
    for (const taskId of taskIds) run(taskId).end(`${taskId} ${"y".repeat(200_000)}`);
    for (const taskId of taskIds) await tasks.runtime.wait(OWNER, taskId);
    const response = await listen({ taskIds });
    const told = (await all(response)).filter(({ method }) => method === "notifications/tasks");
    expect(told.map(({ params }) => params?.taskId)).toEqual(taskIds);
    for (const { params } of told) expect(JSON.stringify(params)).toContain("yyyy");
  });

  it("is ended after a minute, and that is said; others go on, and polling tells what it missed", async () => {
    const { tasks, clock, taskIds, run, listen, listening, errors } = await scene(1);
    const [taskId = ""] = taskIds;
    const [stalled, other] = [await listen({ taskIds }), await listen({ taskIds })];
    const read = all(other);
    for (let turn = 0; turn < 200; turn += 1) await run(taskId).task.setWorking(`${turn} ${LONG}`);
    for (let quarter = 0; quarter < 3; quarter += 1) await clock.advance(15_000);
    expect(listening.size).toBe(2);
    await clock.advance(15_000);
    expect(listening.size).toBe(1);
    expect(errors.map(({ message }) => message)).toEqual(["Ended the subscription of a client that does not read."]);
    await expect(stalled.text()).rejects.toThrow();
    run(taskId).end("dug");
    const messages = await read;
    expect(messages.filter(({ method }) => method === "notifications/tasks")).toHaveLength(202);
    expect(await tasks.runtime.get(OWNER, taskId)).toMatchObject({ status: "completed" });
    expect(tasks.runtime.subscriptions.size).toBe(0);
  });

  it("is told of the core's changes once, however often there were some", async () => {
    const { taskIds, run, listen, handler } = await scene(1);
    const [taskId = ""] = taskIds;
    const response = await listen({ taskIds, toolsListChanged: true });
    for (let turn = 0; turn < 200; turn += 1) await run(taskId).task.setWorking(`${turn} ${LONG}`);
    for (let n = 0; n < 100; n += 1) handler.notify.toolsChanged();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const messages = all(response);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await handler.close();
    const hints = (await messages).filter(({ method }) => method === "notifications/tools/list_changed");
    expect(hints).toHaveLength(1);
  });
});

it("a quiet stream says every 15 seconds that it is alive", async () => {
  const { clock, taskIds, run, listen } = await scene(1);
  const response = await listen({ taskIds });
  for (let n = 0; n < 10; n += 1) await clock.advance(15_000);
  run(taskIds[0] ?? "").end("dug");
  expect((await response.text()).match(/^: keepalive$/gm)).toHaveLength(10);
});
