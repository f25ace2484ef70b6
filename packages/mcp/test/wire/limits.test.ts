/** What a client hears of a limit. The limits themselves are the runtime's. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { envelope, gate, type RawClient } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const LIMIT_REACHED = -32005;
const TASKS = "io.modelcontextprotocol/tasks";

function digging(limits: Record<string, number>) {
  const digs = { begun: 0, gate: gate<string>() };
  const { connect, tasks } = scene(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
        digs.begun += 1;
        return Promise.race([digs.gate.promise, ctx.cancelToken.wait()]);
      }),
    { limits, ownership: "single-user" },
  );
  return { connect, tasks, digs };
}

describe("a call over a limit", () => {
  const ways: Record<string, (client: RawClient) => ReturnType<RawClient["request"]>> = {
    "2025-11-25": (client) => client.call("dig", { task: {} }),
    "datalayer's": (client) => client.call("dig", { task: {} }),
    "2026-07-28": (client) => client.call("dig", { _meta: envelope(TASKS) }),
  };

  it.each(Object.keys(ways))("is refused in the dialect %s with what was reached; nothing runs", async (way) => {
    const { connect, digs, tasks } = digging({ tasksPerOwner: 1 });
    const declares = { "datalayer's": { extensions: ["io.datalayer/tasks"] }, "2026-07-28": "none" as const };
    const client = await connect(declares[way as keyof typeof declares]);
    await ways[way]?.(client);
    expect((await ways[way]?.(client))?.error).toEqual({
      code: LIMIT_REACHED,
      message:
        "1 tasks of yours are unfinished, as many as one caller may have here. Wait until one has ended, or cancel one.",
      data: { limit: "tasksPerOwner", max: 1 },
    });
    expect(digs.begun).toBe(1);
    expect(tasks.runtime.gauges.attempts).toBe(1);
  });

  it("does not burn its key, and the retry of one that came in finds its task", async () => {
    const { connect, digs } = digging({ tasksPerOwner: 1 });
    const client = await connect();
    const keyed = (key: string) => ({ _meta: { "io.datalayer/idempotency-key": key } });
    const first = await client.callTask("dig", keyed("a"));
    expect((await client.call("dig", { task: {}, ...keyed("b") })).error?.code).toBe(LIMIT_REACHED);
    expect((await client.callTask("dig", keyed("a"))).taskId).toBe(first.taskId);
    digs.gate.open("dug");
    await client.request("tasks/result", { taskId: first.taskId });
    expect((await client.callTask("dig", keyed("b"))).taskId).not.toBe(first.taskId);
  });

  it("that asks for no task is none of them", async () => {
    const { connect, digs } = digging({ tasksPerOwner: 1 });
    const client = await connect();
    await client.callTask("dig");
    digs.gate.open("dug");
    expect((await client.call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
  });
});

describe("tasks/result", () => {
  it("that would be one too many to wait is refused; one that need not wait is answered", async () => {
    const { connect, digs } = digging({ waitersPerOwner: 3 });
    const client = await connect();
    const [a, b] = [await client.callTask("dig"), await client.callTask("dig")];
    const waiting = [a, a, b].map(({ taskId }) => client.request("tasks/result", { taskId }));
    const refused = await client.request("tasks/result", { taskId: b.taskId });
    expect(refused.error).toMatchObject({ code: LIMIT_REACHED, data: { limit: "waitersPerOwner", max: 3 } });
    expect((await client.request("tasks/get", { taskId: b.taskId })).result).toMatchObject({ status: "working" });
    digs.gate.open("dug");
    for (const { result } of await Promise.all(waiting)) expect(result).toMatchObject({ content: [{ text: "dug" }] });
    expect((await client.request("tasks/result", { taskId: b.taskId })).result).toBeDefined();
  });

  it("three hundred that wait take nothing from whoever polls, and leave nothing behind when their caller goes", async () => {
    const { connect, tasks } = digging({});
    const [waiter, poller] = [await connect(), await connect()];
    const { taskId } = await waiter.callTask("dig");
    for (let i = 0; i < 300; i += 1) void waiter.request("tasks/result", { taskId });
    const other = await poller.callTask("dig");
    expect((await poller.request("tasks/get", { taskId: other.taskId })).result).toMatchObject({ status: "working" });
    await waiter.close();
    const waits = Array.from({ length: 1000 }, () => poller.request("tasks/result", { taskId }));
    const answer = await Promise.race([...waits, poller.request("tasks/get", { taskId }).then(() => "all wait")]);
    expect(answer).toBe("all wait");
    await tasks.runtime.cancel(JSON.stringify(["single-user"]), taskId);
    await Promise.all(waits);
  });
});

describe("polling", () => {
  const LIMITED = { pollsPerSecond: 2 };
  const BURST = 10;

  it.each(["tasks/get", "tasks/list"])("%s too often is refused, with when to ask again", async (method) => {
    const { connect } = digging(LIMITED);
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    for (let i = 0; i < BURST; i += 1) expect((await client.request(method, { taskId })).result).toBeDefined();
    const { error } = await client.request(method, { taskId });
    expect(error).toMatchObject({ code: LIMIT_REACHED, data: { limit: "pollsPerSecond", max: 2 } });
    const { retryAfterMs } = (error?.data ?? {}) as { retryAfterMs?: number };
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(500);
  });

  it("by asking for results that are not there counts as well, where that is refused", async () => {
    const { connect } = digging(LIMITED);
    const client = await connect({ extensions: ["io.datalayer/tasks"] });
    const { taskId } = await client.callTask("dig");
    for (let i = 0; i < BURST; i += 1) {
      expect((await client.request("tasks/result", { taskId })).error?.code).toBe(-32602);
    }
    expect((await client.request("tasks/result", { taskId })).error?.code).toBe(LIMIT_REACHED);
  });

  it("invented ids is polling", async () => {
    const { connect } = digging(LIMITED);
    const client = await connect();
    for (let i = 0; i < BURST; i += 1) await client.request("tasks/get", { taskId: `tsk_${i}` });
    expect((await client.request("tasks/get", { taskId: "tsk_x" })).error?.code).toBe(LIMIT_REACHED);
  });

  it("never stands in the way of cancelling", async () => {
    const { connect, digs } = digging(LIMITED);
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    for (let i = 0; i <= BURST; i += 1) await client.request("tasks/get", { taskId });
    digs.gate.open("dug");
    expect((await client.request("tasks/cancel", { taskId })).error?.code).not.toBe(LIMIT_REACHED);
  });

  it("is not what fetching finished tasks is, nor waiting for them, however often", async () => {
    const { connect, digs } = digging(LIMITED);
    const client = await connect();
    digs.gate.open("dug");
    for (let i = 0; i < 5 * BURST; i += 1) {
      const { taskId } = await client.callTask("dig");
      expect((await client.request("tasks/result", { taskId })).result).toBeDefined();
      expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ status: "completed" });
    }
  });

  it("ten tasks every 200 ms, as a test harness does, is never refused by default", async () => {
    const { connect } = digging({});
    const client = await connect();
    const created = await Promise.all(Array.from({ length: 10 }, () => client.callTask("dig")));
    // Ten seconds' worth, at once.
    for (let i = 0; i < 50; i += 1) {
      const polls = created.map(({ taskId }) => client.request("tasks/get", { taskId }));
      for (const { error } of await Promise.all(polls)) expect(error).toBeUndefined();
    }
  });

  it("by one owner takes nothing from another", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      limits: LIMITED,
    });
    const [mallory, alice] = [await connect(), await connect()];
    for (let i = 0; i <= BURST; i += 1) await mallory.request("tasks/list");
    expect((await mallory.request("tasks/list")).error?.code).toBe(LIMIT_REACHED);
    expect((await alice.request("tasks/list")).result).toBeDefined();
  });
});

describe("what is too large to be kept", () => {
  const huge = "x".repeat(600_000);

  it("a checkpoint fails the tool that does not mind the error; a direct call of it has no task, and keeps nothing", async () => {
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, { task }) => {
        await task?.checkpoint([huge, huge]);
        return "dug";
      }),
    );
    const client = await connect();
    expect((await client.call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
    const { taskId } = await client.callTask("dig");
    const { result } = await client.request("tasks/result", { taskId });
    const said = expect.stringMatching(/^The checkpoint has 1200007 bytes as JSON; at most 1048576 are kept/);
    expect(result).toMatchObject({ isError: true, content: [{ text: said }] });
  });

  it.each(["2025-11-25", "datalayer"] as const)(
    "an answer of a client of %s reaches the tool as one that was refused",
    async (contract) => {
      const { connect } = scene(
        (tasks, server) =>
          tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
            const { roots } = await ctx.listRoots().catch((error: Error) => ({ roots: error.message }));
            return String(roots);
          }),
        { contract, maxQuestionsBytes: 500_000 },
      );
      const client = await connect({ capabilities: { roots: {} } });
      const { taskId } = await client.callTask("dig");
      const result = client.request("tasks/result", { taskId });
      await eventually(() => client.heard.some(({ method }) => method === "roots/list"));
      const { id } = client.heard.find(({ method }) => method === "roots/list") as { id?: string };
      await client.send({ jsonrpc: "2.0", id, result: { roots: [{ uri: `file:///${huge}` }] } });
      const text = "The client's answer is refused: it has more bytes than the task may keep (maxQuestionsBytes).";
      expect((await result).result).toMatchObject({ content: [{ text }] });
    },
  );

  it("one answer among several in tasks/update refuses them all with -32602, and the questions stay open", async () => {
    const { connect, tasks } = scene(
      (own, server) =>
        own.registerTool(server, "dig", OPTIONAL, (_args, ctx) => Promise.all([ctx.listRoots(), ctx.sample({})])),
      { maxQuestionsBytes: 500_000, ownership: "single-user" },
    );
    const client = await connect("none");
    const declared = envelope(TASKS);
    Object.assign(declared["io.modelcontextprotocol/clientCapabilities"] as object, { roots: {}, sampling: {} });
    const { taskId } = (await client.call("dig", { _meta: declared })).result as { taskId: string };
    const questions = async () => (await tasks.runtime.get(JSON.stringify(["single-user"]), taskId))?.questions ?? [];
    await eventually(async () => (await questions()).length === 2);
    const before = await questions();
    const keyOf = (method: string): string => before.find((asked) => asked.method === method)?.key ?? "";
    const sampled = { role: "assistant", model: "m", content: { type: "text", text: "short" } };
    const update = (text: string) =>
      client.request("tasks/update", {
        taskId,
        _meta: declared,
        inputResponses: {
          [keyOf("roots/list")]: { roots: [] },
          [keyOf("sampling/createMessage")]: { ...sampled, content: { type: "text", text } },
        },
      });
    expect((await update(huge)).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("at most 500000 are kept (maxQuestionsBytes)"),
      data: { limit: "maxQuestionsBytes", max: 500_000 },
    });
    expect(await questions()).toEqual(before);
    expect((await update("short")).error).toBeUndefined();
    expect((await questions()).every(({ answer }) => answer !== undefined)).toBe(true);
  });

  it("a client that says too much of itself gets no task and hears why; its direct calls run", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
    const client = await connect({ capabilities: { sampling: { context: { note: huge } } } });
    expect((await client.call("dig", { task: {} })).error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^What is kept of the request .* at most 262144 are kept \(maxKeptRequestBytes\)/),
      data: { limit: "maxKeptRequestBytes" },
    });
    expect((await client.call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("a progress token of more than a thousand characters gets no task, and hears why", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
    const client = await connect();
    const call = (progressToken: string) => client.call("dig", { task: {}, _meta: { progressToken } });
    const message = "progressToken may have 1000 characters; it has 1001.";
    expect((await call("x".repeat(1001))).error).toEqual({ code: -32602, message });
    expect((await call("x".repeat(1000))).error).toBeUndefined();
  });
});
