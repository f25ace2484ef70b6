/** What a caller is told of its task without asking: status changes and progress. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import { gate, type Heard, type RawClient } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const statuses = (client: RawClient): Heard[] =>
  client.heard.filter(({ method }) => method === "notifications/tasks/status");
const progress = (client: RawClient): Heard[] =>
  client.heard.filter(({ method }) => method === "notifications/progress");
const terminal = (client: RawClient) => statuses(client).some(({ params }) => params.status !== "working");

describe("notifications/tasks/status", () => {
  it("in our contract is sent when a task reaches a terminal state, with the status and never the result", async () => {
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
          await ctx.task?.requireInput("Where to?");
          await ctx.task?.setWorking("Going there.");
          return "a megabyte of output";
        }),
      { contract: "datalayer" },
    );
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    await eventually(() => statuses(client).length > 0);
    await client.request("ping");
    expect(statuses(client)).toHaveLength(1);
    expect(statuses(client)[0]?.params).toEqual((await client.request("tasks/get", { taskId })).result);
    expect(JSON.stringify(client.heard)).not.toContain("megabyte");
  });

  it("in 2025-11-25 is sent on every change, without related-task metadata", async () => {
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        await ctx.task?.requireInput("Where to?");
        await ctx.task?.setWorking("Going there.");
      }),
    );
    const client = await connect();
    await client.callTask("dig");
    await eventually(() => statuses(client).length === 3);
    expect(statuses(client).map(({ params }) => [params.status, params.statusMessage])).toEqual([
      ["input_required", "Where to?"],
      ["working", "Going there."],
      ["completed", undefined],
    ]);
    expect(JSON.stringify(statuses(client))).not.toContain("related-task");
  });

  it("never overtakes the claim check of its task, however quick the work is", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "quick", OPTIONAL, () => "quick"));
    const client = await connect();
    for (let i = 0; i < 20; i += 1) await client.callTask("quick", { _meta: { progressToken: i } });
    await eventually(() => statuses(client).length === 20);
    const known = new Set<unknown>();
    for (const message of client.log) {
      const task = "result" in message ? (message.result?.task as { taskId?: string } | undefined) : undefined;
      if (task?.taskId !== undefined) known.add(task.taskId);
      if ("method" in message) expect(known).toContain(message.params.taskId);
    }
    expect(known.size).toBe(20);
  });

  it("is sent of a failure and of a cancellation too", async () => {
    const { connect } = scene((tasks, server) => {
      tasks.registerTool(server, "fail", OPTIONAL, () => {
        throw new Error("rock");
      });
      tasks.registerTool(server, "endless", OPTIONAL, async (_args, ctx) => {
        await ctx.cancelToken.wait();
        ctx.cancelToken.checkCancelled();
      });
    });
    const client = await connect();
    await client.callTask("fail");
    const { taskId } = await client.callTask("endless");
    await client.request("tasks/cancel", { taskId });
    await eventually(() => statuses(client).length === 2);
    expect(statuses(client).map(({ params }) => params.status)).toEqual(["failed", "cancelled"]);
  });

  it("a session that cannot carry it costs nothing else: the task completes, and the next poll finds it", async () => {
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      ownership: "single-user",
    });
    const gone = await connect();
    const { taskId } = await gone.callTask("dig");
    await gone.close();
    running.open("dug");
    const client = await connect();
    expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(statuses(client)).toEqual([]);
  });

  it("of a task that a retry found again reaches the connection that retried", async () => {
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      ownership: "single-user",
    });
    const _meta = { "io.datalayer/idempotency-key": "k" };
    const first = await connect();
    const { taskId } = await first.callTask("dig", { _meta });
    await first.close();
    const second = await connect();
    await second.callTask("dig", { _meta });
    running.open("dug");
    await eventually(() => terminal(second));
    expect(statuses(second).map(({ params }) => params.taskId)).toEqual([taskId]);
  });
});

describe.each(["datalayer", "2025-11-25"] as const)("notifications/progress in contract %s", (contract) => {
  function digging(dig: (ctx: ToolContext) => unknown) {
    return scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => dig(ctx)), {
      contract,
    });
  }

  it.each([0, "", "0", 7, "token"])("carries the caller's token %j, its type kept", async (progressToken) => {
    const { connect } = digging((ctx) => {
      ctx.task?.sendProgress(1, { total: 3, message: "one foot" });
      ctx.task?.sendProgress(2.5);
    });
    const client = await connect();
    const { taskId } = await client.callTask("dig", { _meta: { progressToken } });
    await eventually(() => terminal(client));
    const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
    expect(progress(client).map(({ params }) => params)).toEqual([
      { progressToken, progress: 1, total: 3, message: "one foot", _meta },
      { progressToken, progress: 2.5, _meta },
    ]);
  });

  it("none is sent without a token", async () => {
    const { connect } = digging((ctx) => void ctx.task?.sendProgress(1));
    const client = await connect();
    await client.callTask("dig");
    await eventually(() => terminal(client));
    expect(progress(client)).toEqual([]);
  });

  it("grows strictly: what does not is left out", async () => {
    const { connect } = digging((ctx) => {
      for (const current of [1, 1, 0.5, 2, Number.NaN, 2, 3]) ctx.task?.sendProgress(current);
    });
    const client = await connect();
    await client.callTask("dig", { _meta: { progressToken: "t" } });
    await eventually(() => terminal(client));
    expect(progress(client).map(({ params }) => params.progress)).toEqual([1, 2, 3]);
  });

  it("tells every new message, also where the number has not grown, and the number grows all the same", async () => {
    const { connect } = digging((ctx) => {
      for (const message of ["looking", "installing", "installing", "starting"]) ctx.task?.sendProgress(0, { message });
    });
    const client = await connect();
    await client.callTask("dig", { _meta: { progressToken: "t" } });
    await eventually(() => terminal(client));
    const heard = progress(client).map(({ params }) => params as { progress: number; message: string });
    expect(heard.map(({ message }) => message)).toEqual(["looking", "installing", "starting"]);
    expect(heard[1]?.progress).toBeGreaterThan(heard[0]?.progress ?? 0);
    expect(heard[2]?.progress).toBeGreaterThan(heard[1]?.progress ?? 0);
  });

  it.each(["completes", "fails", "is cancelled"])("none is sent once the task %s", async (how) => {
    const late = gate<boolean>();
    const { connect } = digging(async (ctx) => {
      ctx.task?.sendProgress(1);
      setImmediate(() => setImmediate(() => late.open(ctx.task?.sendProgress(2) ?? true)));
      if (how === "fails") throw new Error("rock");
      if (how === "completes") return "dug";
      await ctx.cancelToken.wait();
      return ctx.cancelToken.checkCancelled();
    });
    const client = await connect();
    const { taskId } = await client.callTask("dig", { _meta: { progressToken: "t" } });
    if (how === "is cancelled") await client.request("tasks/cancel", { taskId });
    expect(await late.promise).toBe(false);
    await client.request("ping");
    expect(progress(client)).toHaveLength(1);
  });

  it("what it says reaches whoever only polls: the message, and the numbers", async () => {
    const running = gate();
    const { connect } = digging(async (ctx) => {
      ctx.task?.sendProgress(1, { total: 3, message: "one foot" });
      await running.promise;
    });
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const polled = async () => (await client.request("tasks/get", { taskId })).result;
    await eventually(async () => (await polled())?.statusMessage === "one foot");
    expect((await polled())?._meta).toEqual({
      "io.datalayer/progress": { current: 1, total: 3, message: "one foot" },
    });
    running.open();
    await eventually(async () => (await polled())?.status === "completed");
    expect(await polled()).not.toHaveProperty("statusMessage");
  });

  it("output so far is readable while the task runs, for who asks for it", async () => {
    const running = gate();
    const { connect } = digging(async (ctx) => {
      ctx.task?.recordOutput(["line 1", "line 2"]);
      await running.promise;
    });
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const _meta = { "io.datalayer/partial-output": true };
    const polled = async () => (await client.request("tasks/get", { taskId, _meta })).result?._meta;
    await eventually(async () => JSON.stringify(await polled()).includes("line 2"));
    expect(await polled()).toEqual({ "io.datalayer/partial-output": ["line 1", "line 2"] });
    expect((await client.request("tasks/get", { taskId })).result).not.toHaveProperty("_meta");
    running.open();
  });
});
