/** `subscriptions/listen` with task ids (SEP-2663, "Task Status Notifications"), over everything that carries it. */
import { MemoryStore, TaskError } from "@claimcheck/core";
import type { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { Tasks, ToolContext } from "../../src/index.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { acknowledged, carriers, changes, type Listener, type Stream, SUBSCRIPTION } from "./carriers.js";

/** A tool whose every run waits for the test; the runs, in the order in which they began. */
function held() {
  const runs: { ctx: ToolContext; end: (text: string) => void; fail: (error: unknown) => void }[] = [];
  const register = (tasks: Tasks, server: McpServer): void => {
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
      const { promise, open, fail } = gate<string>();
      runs.push({ ctx, end: open, fail });
      return promise;
    });
    tasks.registerTool(server, "asks", OPTIONAL, (_args, ctx) =>
      ctx.elicit({ message: "Sure?", requestedSchema: SURE }),
    );
  };
  const run = (index = 0) => {
    const found = runs[index];
    if (found?.ctx.task == null) throw new Error("it does not run");
    return { ...found, task: found.ctx.task };
  };
  return { register, runs, run };
}

const SURE = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;

async function create(client: Listener, name = "dig", more: Record<string, unknown> = {}): Promise<string> {
  const { result, error } = await client.request("tools/call", { name, arguments: {}, ...more });
  if (error !== undefined) throw new Error(error.message);
  return result?.taskId as string;
}

/** Nothing that was on its way when this was called is still on its way when it resolves. */
async function settled(client: Listener): Promise<void> {
  await client.request("server/discover");
  // Turns of the event loop that both ends share, however long those take, and some milliseconds.
  for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setTimeout(resolve, 5));
}

const statuses = (stream: Stream) => changes(stream).map(({ status, statusMessage }) => statusMessage ?? status);

describe.each(Object.entries(carriers))("over %s", (_name, carrier) => {
  it("acknowledges first, tells how each task is as tasks/get would, then every change once and in order", async () => {
    const { register, run } = held();
    const { connect } = await carrier(register);
    const client = connect();
    const [a, b] = [await create(client), await create(client)];
    const stream = await client.listen({ taskIds: [a, b] });
    const { result: got } = await client.request("tasks/get", { taskId: a });
    for (let feet = 1; feet <= 5; feet += 1) await run().task.setWorking(`${feet} feet`);
    run().end("dug");
    await eventually(() => changes(stream).length === 8);
    expect(stream.messages[0]).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    expect(acknowledged(stream)).toEqual({ taskIds: [a, b] });
    const { resultType: _, _meta: __, ...snapshot } = got ?? {};
    expect(changes(stream)[0]).toEqual({ ...snapshot, _meta: stream.messages[0]?.params?._meta });
    const ofA = changes(stream).filter(({ taskId }) => taskId === a);
    expect(ofA.map(({ status, statusMessage }) => statusMessage ?? status)).toEqual([
      "working",
      ...["1 feet", "2 feet", "3 feet", "4 feet", "5 feet"],
      "completed",
    ]);
    expect(ofA.at(-1)).toMatchObject({ result: { resultType: "complete", content: [{ type: "text", text: "dug" }] } });
    expect(changes(stream).filter(({ taskId }) => taskId === b)).toHaveLength(1);
    expect(stream.hasEnded).toBe(false);
  });

  it("tells how a task is that has ended before, and then ends: nothing more can come", async () => {
    const { register, run } = held();
    const { connect, tasks } = await carrier(register);
    const client = connect();
    const taskId = await create(client);
    run().end("dug");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    const stream = await client.listen({ taskIds: [taskId] });
    await eventually(() => stream.hasEnded);
    expect(stream.messages.map(({ method }) => method)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tasks",
      undefined,
    ]);
    const { id, result } = stream.messages[2] ?? {};
    expect(result).toMatchObject({ resultType: "complete", _meta: { [SUBSCRIPTION]: id } });
    expect(tasks.runtime.subscriptions.size).toBe(0);
  });

  it("ends once the last of its tasks has, and has told how each ended", async () => {
    const { register, run } = held();
    const { connect, tasks } = await carrier(register);
    const client = connect();
    const [a, b] = [await create(client), await create(client)];
    const stream = await client.listen({ taskIds: [a, b] });
    run(0).end("dug");
    await client.request("tasks/cancel", { taskId: b });
    await eventually(() => stream.hasEnded);
    const last = new Map(changes(stream).map((change) => [change.taskId, change.status]));
    expect(last).toEqual(
      new Map([
        [a, "completed"],
        [b, "cancelled"],
      ]),
    );
    expect(stream.messages.at(-1)).toMatchObject({ result: { resultType: "complete" } });
    expect(tasks.runtime.gauges.watchedTasks).toBe(0);
  });

  it("acknowledges none of what is unknown, overlong or told twice, and cannot be told from one of another's", async () => {
    const { register } = held();
    const { connect } = await carrier(register);
    const client = connect();
    const mine = await create(client);
    const invented = mine.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const stream = await client.listen({ taskIds: [invented, mine, "x".repeat(1000), mine, "", "__proto__"] });
    expect(acknowledged(stream)).toEqual({ taskIds: [mine] });
    const none = await client.listen({ taskIds: [invented] });
    await eventually(() => none.hasEnded);
    expect(acknowledged(none)).toEqual({ taskIds: [] });
    expect(none.messages).toHaveLength(2);
  });

  it("carries what is asked, and how the task goes on when it is answered", async () => {
    const { connect } = await carrier(held().register);
    const client = connect();
    const taskId = await create(client, "asks");
    const stream = await client.listen({ taskIds: [taskId] });
    await eventually(() => statuses(stream).at(-1) === "input_required");
    const inputRequests = changes(stream).at(-1)?.inputRequests as Record<string, unknown>;
    const [[key, question] = []] = Object.entries(inputRequests);
    expect(question).toMatchObject({ method: "elicitation/create", params: { message: "Sure?" } });
    const inputResponses = { [key as string]: { action: "accept", content: { sure: true } } };
    await client.request("tasks/update", { taskId, inputResponses });
    await eventually(() => stream.hasEnded);
    expect(statuses(stream).slice(-2)).toEqual(["working", "completed"]);
    expect(changes(stream).at(-1)).not.toHaveProperty("inputRequests");
  });

  it("tells no progress and no log messages, whatever the call asked for", async () => {
    const { register, run } = held();
    const { connect } = await carrier(register);
    const client = connect();
    const _meta = { progressToken: "t", "io.modelcontextprotocol/logLevel": "debug" };
    const taskId = await create(client, "dig", { _meta });
    const stream = await client.listen({ taskIds: [taskId] });
    run().task.sendProgress(1, { total: 2 });
    expect(run().ctx.log("emergency", "fire")).toBe(false);
    run().task.sendProgress(2, { total: 2, message: "nearly" });
    await eventually(() => statuses(stream).includes("nearly"));
    run().end("dug");
    await eventually(() => stream.hasEnded);
    const methods = new Set(stream.messages.map(({ method }) => method));
    expect(methods).toEqual(new Set(["notifications/subscriptions/acknowledged", "notifications/tasks", undefined]));
  });

  it("is refused with -32021 when the extension is not declared, whatever it asks for", async () => {
    const { register } = held();
    const { connect } = await carrier(register);
    const client = connect();
    const taskIds = [await create(client), "tsk_invented"];
    for (const [extensions, asked] of [
      [[], taskIds],
      [["io.datalayer/tasks"], taskIds],
      [[], "no list"],
    ] as const) {
      const stream = await client.listen({ taskIds: asked, toolsListChanged: true }, { extensions: [...extensions] });
      await eventually(() => stream.hasEnded);
      expect(stream.status ?? 400).toBe(400);
      expect(stream.messages).toHaveLength(1);
      expect(stream.messages[0]?.error).toEqual({
        code: -32021,
        message: expect.stringContaining("io.modelcontextprotocol/tasks"),
        data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
      });
    }
  });

  it.each([["a string"], [{}], [[1]], [[null]], [["a", ["b"]]]])(
    "refuses taskIds that are no ids: %j",
    async (taskIds) => {
      const { connect } = await carrier(held().register);
      const stream = await connect().listen({ taskIds });
      await eventually(() => stream.hasEnded);
      expect(stream.messages[0]?.error).toMatchObject({ code: -32602, message: expect.stringContaining("taskIds") });
    },
  );

  it("leaves listening without task ids to the SDK", async () => {
    const { connect } = await carrier(held().register);
    const stream = await connect().listen({ toolsListChanged: true });
    expect(acknowledged(stream)).toEqual({ toolsListChanged: true });
    const nothing = await connect().listen({ taskIds: null, toolsListChanged: true });
    expect(acknowledged(nothing)).toEqual({ toolsListChanged: true });
  });

  it("mixes with the core's filters, and goes on for them when its tasks have ended", async () => {
    const { register, run } = held();
    const { connect, close } = await carrier(register);
    const client = connect();
    const taskId = await create(client);
    const stream = await client.listen({ taskIds: [taskId], toolsListChanged: true });
    expect(acknowledged(stream)).toEqual({ taskIds: [taskId], toolsListChanged: true });
    run().end("dug");
    await eventually(() => statuses(stream).includes("completed"));
    await settled(client);
    expect(stream.hasEnded).toBe(false);
    await close();
    await eventually(() => stream.hasEnded);
    expect(stream.messages.at(-1)).toMatchObject({ result: { resultType: "complete" } });
  });

  it("ends with a response when the server shuts down", async () => {
    const { connect, close, tasks } = await carrier(held().register);
    const client = connect();
    const stream = await client.listen({ taskIds: [await create(client)] });
    await close();
    await eventually(() => stream.hasEnded);
    expect(stream.messages.at(-1)).toMatchObject({
      result: { resultType: "complete", _meta: { [SUBSCRIPTION]: expect.anything() } },
    });
    expect(tasks.runtime.subscriptions.size).toBe(0);
  });

  it("ends with a response when the tasks are closed before the serving is", async () => {
    const { connect, tasks } = await carrier(held().register);
    const client = connect();
    const stream = await client.listen({ taskIds: [await create(client)] });
    await tasks.close();
    await eventually(() => stream.hasEnded);
    expect(stream.messages.at(-1)).toMatchObject({ result: { resultType: "complete" } });
  });

  it("tells nothing more once its client has cancelled it, and leaves the task alone", async () => {
    const { register, run } = held();
    const { connect, tasks } = await carrier(register);
    const client = connect();
    const taskId = await create(client);
    const stream = await client.listen({ taskIds: [taskId] });
    const other = await client.listen({ taskIds: [taskId] });
    await eventually(() => changes(stream).length === 1);
    stream.cancel();
    await eventually(() => tasks.runtime.subscriptions.size === 1 && stream.hasEnded);
    await settled(client);
    await run().task.setWorking("on");
    run().end("dug");
    await eventually(() => other.hasEnded);
    expect(changes(stream)).toHaveLength(1);
    expect(statuses(other)).toEqual(["working", "on", "completed"]);
    expect(tasks.runtime.subscriptions.size).toBe(0);
  });

  it("serves many subscriptions to one task at once, each with its own id", async () => {
    const { register, run } = held();
    const { connect, tasks } = await carrier(register);
    const client = connect();
    const taskId = await create(client);
    const streams: Stream[] = [];
    for (let n = 0; n < 20; n += 1) streams.push(await client.listen({ taskIds: [taskId] }));
    await run().task.setWorking("on");
    run().end("dug");
    await eventually(() => streams.every(({ hasEnded }) => hasEnded));
    for (const stream of streams) expect(statuses(stream)).toEqual(["working", "on", "completed"]);
    const { size } = tasks.runtime.subscriptions;
    expect({ size, watched: tasks.runtime.gauges.watchedTasks }).toEqual({ size: 0, watched: 0 });
  });

  it("is bounded, by subscription and by task; a subscription that ends makes room", async () => {
    const { register, run } = held();
    const limits = { subscriptionsPerOwner: 2, subscribedTasksPerOwner: 3 };
    const { connect } = await carrier(register, { tasks: { limits } });
    const client = connect();
    const [a, b] = [await create(client), await create(client)];
    const refused = async (taskIds: string[], limit: string) => {
      const stream = await client.listen({ taskIds });
      await eventually(() => stream.hasEnded);
      expect(stream.messages[0]?.error).toMatchObject({ code: -32005, data: { limit } });
    };
    await refused([a, b, "c", "d"], "subscribedTasksPerOwner");
    const first = await client.listen({ taskIds: [a, b] });
    await refused([a, b], "subscribedTasksPerOwner");
    await client.listen({ taskIds: [b] });
    await refused([b], "subscriptionsPerOwner");
    run(0).end("dug");
    run(1).end("dug");
    await eventually(() => first.hasEnded);
    const { messages } = await client.listen({ taskIds: [a] });
    expect(messages[0]?.error).toBeUndefined();
  });

  it("counts as asking for each task that it names", async () => {
    const { connect } = await carrier(held().register, { tasks: { limits: { pollsPerSecond: 2 } } });
    const client = connect();
    const taskIds = Array.from({ length: 10 }, (_, n) => `tsk_${n}`);
    await client.listen({ taskIds });
    const refused = await client.listen({ taskIds });
    expect(refused.messages[0]?.error).toMatchObject({ code: -32005, data: { limit: "pollsPerSecond" } });
  });

  it.each([
    new Error("secret host is down"),
    new TaskError("store_unusable", "The file /secret/tasks.db was removed."),
  ])("that cannot read the store (%s) is refused, and says nothing of why", async (error) => {
    const store = new MemoryStore();
    const { connect } = await carrier(held().register, { tasks: { store } });
    const client = connect();
    const taskId = await create(client);
    store.get = () => Promise.reject(error);
    const { messages } = await client.listen({ taskIds: [taskId] });
    expect(messages[0]?.error).toEqual({ code: -32603, message: "Internal error" });
  });
});
