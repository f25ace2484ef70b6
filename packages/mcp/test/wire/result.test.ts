/** What `tasks/result` answers: a failure is a failed task, not an empty one. */

import { ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const RELATED = "io.modelcontextprotocol/related-task";

/** A whole MCP result with everything in it that a path could lose. */
const RICH = {
  content: [
    { type: "text", text: "a", annotations: { audience: ["user"], priority: 0.5 } },
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "audio", data: "AA==", mimeType: "audio/wav" },
    { type: "resource_link", uri: "file:///a", name: "a" },
    { type: "resource", resource: { uri: "file:///b", blob: "AA==" } },
  ],
  structuredContent: { task: "a member of that name", nothing: null, nested: { list: [] } },
  _meta: { "vendor/x": { y: [1] } },
};

describe("2025-11-25", () => {
  it("tasks/result waits until the task is terminal, and answers the tool's output", async () => {
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise));
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    let answered = false;
    const result = client.request("tasks/result", { taskId }).finally(() => {
      answered = true;
    });
    // A blocked result does not block other requests.
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ status: "working" });
    expect(answered).toBe(false);
    running.open("dug");
    expect((await result).result).toEqual({
      content: [{ type: "text", text: "dug" }],
      _meta: { [RELATED]: { taskId } },
    });
  });

  it("fifty waiters all get the one result, and nothing is left behind", async () => {
    const running = gate<string>();
    const { tasks, connect } = scene(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise),
      { ownership: "single-user" },
    );
    const clients = await Promise.all(Array.from({ length: 50 }, () => connect()));
    const { taskId } = await (clients[0] as (typeof clients)[0]).callTask("dig");
    const results = clients.map((client) => client.request("tasks/result", { taskId }));
    running.open("dug");
    for (const { result } of await Promise.all(results)) expect(result).toMatchObject({ content: [{ text: "dug" }] });
    expect(tasks.runtime.gauges.watchedTasks).toBe(0);
  });

  it("a waiter that hangs up, or cancels its request, leaves nothing behind and the task unharmed", async () => {
    const running = gate<string>();
    const { tasks, connect } = scene(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise),
      { ownership: "single-user", contract: "2025-11-25" },
    );
    const [creator, hangsUp, cancels] = [await connect(), await connect(), await connect()];
    const { taskId } = await creator.callTask("dig");
    await creator.close();
    void hangsUp.request("tasks/result", { taskId });
    void cancels.request("tasks/result", { taskId }, "waiting");
    await hangsUp.close();
    await cancels.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "waiting" } });
    running.open("dug");
    expect((await cancels.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
    await eventually(() => tasks.runtime.gauges.watchedTasks === 0);
  });

  it("a place that a waiter leaves, by hanging up or by cancelling its request, is free for the next", async () => {
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      ownership: "single-user",
      limits: { waitersPerOwner: 1 },
    });
    const [hangsUp, cancels, last] = [await connect(), await connect(), await connect()];
    const { taskId } = await last.callTask("dig");
    void hangsUp.request("tasks/result", { taskId });
    await hangsUp.request("ping");
    expect((await last.request("tasks/result", { taskId })).error?.code).toBe(-32005);
    await hangsUp.close();
    void cancels.request("tasks/result", { taskId }, "waiting");
    await cancels.request("ping");
    expect((await last.request("tasks/result", { taskId })).error?.code).toBe(-32005);
    await cancels.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "waiting" } });
    await cancels.request("ping");
    const result = last.request("tasks/result", { taskId });
    await last.request("ping");
    running.open("dug");
    expect((await result).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(cancels.log.filter((reply) => "id" in reply && reply.id === "waiting")).toEqual([]);
  });

  it("an isError result is a failed task whose result is served whole, its text in the status message", async () => {
    const error = { ...RICH, content: [{ type: "text", text: "spade broke" }, ...RICH.content], isError: true };
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => error));
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const { result } = await client.request("tasks/result", { taskId });
    expect(result).toEqual({ ...error, _meta: { ...RICH._meta, [RELATED]: { taskId } } });
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
      status: "failed",
      statusMessage: "spade broke\na",
    });
  });

  it("a tool that throws ends with exactly the isError result of the direct call", async () => {
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => {
        throw new Error("rock");
      }),
    );
    const client = await connect();
    const direct = (await client.call("dig")).result;
    expect(direct).toEqual({ content: [{ type: "text", text: "rock" }], isError: true });
    const { taskId } = await client.callTask("dig");
    const { result } = await client.request("tasks/result", { taskId });
    expect(result).toEqual({ ...direct, _meta: { [RELATED]: { taskId } } });
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
      status: "failed",
      statusMessage: "rock",
    });
  });
});

describe("io.datalayer/tasks", () => {
  it("tasks/result on a task that is still working is refused; asked again once it is terminal, it answers", async () => {
    const running = gate<string>();
    const { connect } = scene(
      (tasks, server) => tasks.registerTool(server, "dig", { ...OPTIONAL, pollInterval: 250 }, () => running.promise),
      { contract: "datalayer" },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    expect((await client.request("tasks/result", { taskId })).error).toEqual({
      code: -32602,
      message: expect.stringContaining("working"),
      data: { status: "working", pollInterval: 250 },
    });
    running.open("dug");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("tasks/result on a task that waits for a person stays open, and answers when it is terminal", async () => {
    const asked = gate();
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          await ctx.task?.requireInput("Where to?");
          await asked.promise;
          await ctx.task?.setWorking("Going there.");
          return "there";
        }),
      { contract: "datalayer" },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "input_required");
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ statusMessage: "Where to?" });
    const result = client.request("tasks/result", { taskId });
    await client.request("ping");
    asked.open();
    expect((await result).result).toMatchObject({ content: [{ text: "there" }] });
  });

  it("a tool that raised ends failed, carrying the error, and tasks/result raises it, partial output in the data", async () => {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
          ctx.task?.recordOutput(["one foot", "two feet"]);
          throw new Error("rock");
        }),
      { contract: "datalayer" },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "failed");
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ statusMessage: "rock" });
    expect((await client.request("tasks/result", { taskId })).error).toEqual({
      code: -32603,
      message: "rock",
      data: { partialOutput: ["one foot", "two feet"] },
    });
  });

  it("a result that says isError is a completed task's", async () => {
    const { connect } = scene(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => ({ content: [], isError: true })),
      { contract: "datalayer" },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ isError: true });
  });
});

describe.each(["datalayer", "2025-11-25"] as const)("contract %s", (contract) => {
  async function finished(handler: () => unknown) {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, handler), { contract });
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const isOver = async () => (await client.request("tasks/get", { taskId })).result?.status !== "working";
    await eventually(isOver);
    return { client, taskId };
  }

  it("a structured MCP result is preserved as the direct call returns it", async () => {
    const { client, taskId } = await finished(() => RICH);
    expect((await client.call("dig")).result).toEqual(RICH);
    const { result } = await client.request("tasks/result", { taskId });
    expect(result).toEqual({ ...RICH, _meta: { ...RICH._meta, [RELATED]: { taskId } } });
  });

  it("a protocol error is raised with its code, message and data, by the direct call and by tasks/result", async () => {
    const { client, taskId } = await finished(() => {
      throw new ProtocolError(-32042, "first sign in", { url: "https://example.com" });
    });
    const raised = { code: -32042, message: "first sign in", data: { url: "https://example.com" } };
    expect((await client.call("dig")).error).toEqual(raised);
    expect((await client.request("tasks/result", { taskId })).error).toEqual(raised);
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
      status: "failed",
      statusMessage: "first sign in",
    });
  });

  it("reading consumes nothing: every answer is the same the third time", async () => {
    const { client, taskId } = await finished(() => "dug");
    for (const method of ["tasks/get", "tasks/result", "tasks/list"]) {
      const replies = [];
      for (let i = 0; i < 3; i += 1) replies.push((await client.request(method, { taskId })).result);
      expect(replies[1]).toEqual(replies[0]);
      expect(replies[2]).toEqual(replies[0]);
    }
  });

  it("related-task metadata is on tasks/result, and absent on get, list and cancel", async () => {
    const { client, taskId } = await finished(() => "dug");
    expect((await client.request("tasks/result", { taskId })).result?._meta).toEqual({ [RELATED]: { taskId } });
    for (const method of ["tasks/get", "tasks/list", "tasks/cancel"]) {
      expect(JSON.stringify(await client.request(method, { taskId }))).not.toContain(RELATED);
    }
  });

  it("masked, no text of an unexpected error reaches a client on either path; a protocol error does", async () => {
    const secret = "password=hunter2 at /srv/x";
    const { connect } = scene(
      (tasks, server) => {
        tasks.registerTool(server, "dig", OPTIONAL, () => {
          throw new Error(secret);
        });
        tasks.registerTool(server, "raise", {}, () => {
          throw new ProtocolError(-32602, "no such field");
        });
      },
      { contract, maskErrors: true },
    );
    const client = await connect();
    const direct = await client.call("dig");
    expect(direct.result).toEqual({
      content: [{ type: "text", text: "The tool failed with an internal error." }],
      isError: true,
    });
    const { taskId } = await client.callTask("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "failed");
    for (const method of ["tasks/get", "tasks/list", "tasks/result"]) await client.request(method, { taskId });
    expect(JSON.stringify(client.log)).not.toContain("hunter2");
    expect((await client.call("raise")).error?.message).toBe("no such field");
  });

  it("there is no tasks/update: a client does not change a task", async () => {
    const { client, taskId } = await finished(() => "dug");
    expect((await client.request("tasks/update", { taskId, inputResponses: {} })).error?.code).toBe(-32601);
  });

  it("unknown, expired and other people's ids get the same answer, word for word", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      contract,
    });
    const [mine, other] = [await connect(), await connect()];
    const theirs = (await other.callTask("dig")).taskId;
    const expired = (await mine.callTask("dig", { task: { ttl: 0 } })).taskId;
    await eventually(async () => (await mine.request("tasks/get", { taskId: expired })).error !== undefined);
    const ids = ["tsk_neverissued00000000000", theirs, expired, "x".repeat(10_000), "__proto__", "a\u0000b", ""];
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      for (const taskId of ids) {
        const { error } = await mine.request(method, { taskId });
        expect(error).toEqual({ code: -32602, message: "No such task." });
      }
    }
    expect((await mine.request("tasks/list")).result).toEqual({ tasks: [] });
    expect((await other.request("tasks/get", { taskId: theirs })).result).toMatchObject({ taskId: theirs });
  });

  it.each([undefined, null, 5, {}, []])("a task id of %j is refused with -32602", async (taskId) => {
    const { client } = await finished(() => "dug");
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expect((await client.request(method, { taskId })).error?.code).toBe(-32602);
    }
    expect((await client.request("tasks/get")).error?.code).toBe(-32602);
  });

  it("tasks/list shows the tasks newest first, page by page, and refuses a cursor it did not give", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      contract,
    });
    const client = await connect();
    const created: string[] = [];
    for (let i = 0; i < 120; i += 1) created.unshift((await client.callTask("dig")).taskId);
    const listed: string[] = [];
    const createdAt: string[] = [];
    let cursor: unknown;
    do {
      const { result } = await client.request("tasks/list", cursor === undefined ? {} : { cursor });
      for (const task of (result?.tasks ?? []) as { taskId: string; createdAt: string }[]) {
        listed.push(task.taskId);
        createdAt.push(task.createdAt);
      }
      cursor = result?.nextCursor;
    } while (cursor !== undefined);
    expect(listed).toHaveLength(120);
    expect(new Set(listed)).toEqual(new Set(created));
    expect(createdAt).toEqual([...createdAt].sort().reverse());
    for (const bad of ["nonsense", "-1", "", "__proto__", 7]) {
      expect((await client.request("tasks/list", { cursor: bad })).error?.code).toBe(-32602);
    }
  });

  it("a cursor shows every task that was there once, whatever is created between the pages", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      contract,
    });
    const client = await connect();
    const created: string[] = [];
    for (let i = 0; i < 60; i += 1) created.unshift((await client.callTask("dig")).taskId);
    const page = async (params: object) => (await client.request("tasks/list", params)).result as unknown as Page;
    const first = await page({});
    for (let i = 0; i < 7; i += 1) await client.callTask("dig");
    const second = await page({ cursor: first.nextCursor });
    expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId).sort()).toEqual(created.sort());
    expect(second).not.toHaveProperty("nextCursor");
  });
});

interface Page {
  tasks: { taskId: string }[];
  nextCursor?: string;
}

it("for clients that never fetch a failed result, one that says isError can be of a completed task", async () => {
  const rock = { content: [{ type: "text", text: "rock" }], isError: true };
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => rock), {
    isErrorAs: "completed",
  });
  const client = await connect();
  const { taskId } = await client.callTask("dig");
  expect((await client.request("tasks/result", { taskId })).result).toMatchObject(rock);
  expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
    status: "completed",
    statusMessage: "rock",
  });
});
