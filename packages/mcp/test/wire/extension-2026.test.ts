/** The extension io.modelcontextprotocol/tasks on 2026-era connections, in memory through the SDK's own entry. */
import type { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { Tasks, TasksOptions } from "../../src/index.js";
import { type ModernClient, modernScene, OFFICIAL } from "./modern-client.js";
import { gate } from "./raw-client.js";
import { OPTIONAL } from "./servers.js";

const OURS = "io.datalayer/tasks";

async function modern(
  register: (tasks: Tasks, server: McpServer) => void,
  extensions: string[] = [OFFICIAL],
  options: TasksOptions = {},
): Promise<ModernClient> {
  return (await modernScene(register, { ownership: "session", ...options })).connect({ extensions });
}

describe("declared", () => {
  it("the extensions are in server/discover, and capabilities.tasks is not", async () => {
    const client = await modern(() => {});
    const { result } = await client.request("server/discover");
    expect(result?.capabilities).toHaveProperty(["extensions", OFFICIAL], {});
    expect(result?.capabilities).toHaveProperty(["extensions", OURS, "defaultTtlMs"], 900_000);
    expect(result?.capabilities).not.toHaveProperty("tasks");
  });

  it("a call of a tool that can answers a task, flat; tasks/get answers it inlined when it is done", async () => {
    const running = gate<string>();
    const client = await modern((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise));
    const { result } = await client.request("tools/call", { name: "dig", arguments: {} });
    const taskId = result?.taskId as string;
    expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 900_000, pollIntervalMs: 100 });
    for (const member of ["task", "result", "error", "ttl", "pollInterval"]) expect(result).not.toHaveProperty(member);
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
      resultType: "complete",
      status: "working",
    });
    running.open("dug");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    const { result: done } = await client.request("tasks/get", { taskId });
    expect(done?.result).toEqual({ resultType: "complete", content: [{ type: "text", text: "dug" }] });
    expect(JSON.stringify(client.raw.log)).not.toContain("related-task");
  });

  it("our own answers name the server as the SDK's do", async () => {
    const client = await modern((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
    const { result } = await client.request("tools/call", { name: "dig", arguments: {} });
    const ping = await client.request("tools/list");
    const key = "io.modelcontextprotocol/serverInfo";
    expect(result).toHaveProperty(["_meta", key], (ping.result?._meta as Record<string, unknown> | undefined)?.[key]);
    expect(result).toHaveProperty(["_meta", key, "name"], "test");
  });

  it("the legacy task parameter is ignored: it neither asks nor errs", async () => {
    const client = await modern((tasks, server) => {
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
      tasks.registerTool(server, "plain", {}, () => "plain");
    });
    for (const task of [{}, { ttl: -1 }, 5, null]) {
      expect((await client.request("tools/call", { name: "dig", task })).result?.resultType).toBe("task");
      expect((await client.request("tools/call", { name: "plain", task })).result).toMatchObject({
        content: [{ text: "plain" }],
      });
    }
  });

  it("a tool that throws completes with the isError result, a protocol error fails, a cancelled one says what it had", async () => {
    const { ProtocolError } = await import("@modelcontextprotocol/server");
    const client = await modern((tasks, server) => {
      tasks.registerTool(server, "throws", OPTIONAL, () => Promise.reject(new Error("rock")));
      tasks.registerTool(server, "raises", OPTIONAL, () =>
        Promise.reject(new ProtocolError(-32042, "sign in", { a: 1 })),
      );
      tasks.registerTool(server, "endless", OPTIONAL, async (_args, ctx) => {
        ctx.task?.recordOutput(["one foot"]);
        await ctx.cancelToken.wait();
        ctx.cancelToken.checkCancelled();
      });
    });
    const [throws, raises, endless] = [
      await client.create("throws"),
      await client.create("raises"),
      await client.create("endless"),
    ];
    expect((await client.request("tasks/cancel", { taskId: endless })).result).toEqual({
      resultType: "complete",
      _meta: expect.anything(),
    });
    const got = async (taskId: string) => (await client.request("tasks/get", { taskId })).result;
    await eventually(async () => (await got(raises))?.status === "failed");
    expect(await got(throws)).toMatchObject({
      status: "completed",
      result: { isError: true, content: [{ text: "rock" }] },
    });
    expect(await got(raises)).toMatchObject({
      error: { code: -32042, message: "sign in", data: { a: 1 } },
      statusMessage: "sign in",
    });
    expect(await got(endless)).toMatchObject({
      status: "cancelled",
      result: { content: [{ text: "one foot" }], _meta: { "io.datalayer/partial-output": true } },
    });
  });

  it("cancelling a finished task, twice, is the same empty acknowledgement", async () => {
    const client = await modern((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
    const taskId = await client.create("dig");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    for (let i = 0; i < 2; i += 1) {
      const { _meta, ...ack } = (await client.request("tasks/cancel", { taskId })).result ?? {};
      expect(ack).toEqual({ resultType: "complete" });
    }
    expect((await client.request("tasks/get", { taskId })).result?.status).toBe("completed");
  });

  it("tasks/list and tasks/result do not exist", async () => {
    const client = await modern(() => {});
    for (const method of ["tasks/list", "tasks/result"]) {
      expect((await client.request(method, { taskId: "tsk_x" })).error?.code).toBe(-32601);
    }
  });

  it("unknown ids get the same answer from get, cancel and update", async () => {
    const client = await modern(() => {});
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      const { error } = await client.request(method, { taskId: "tsk_x", inputResponses: {} });
      expect(error).toEqual({ code: -32602, message: "No such task." });
    }
  });

  it("a question is in inputRequests, and tasks/update answers it: partly, once, unknown keys ignored", async () => {
    const client = await modern((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
        const ask = (message: string) => ctx.task?.ask({ method: "elicitation/create", params: { message } });
        const [where, how] = await Promise.all([ask("Where?"), ask("How?")]);
        return { where, how };
      }),
    );
    const taskId = await client.create("dig");
    const got = async () => (await client.request("tasks/get", { taskId })).result;
    const questions = async () =>
      ((await got())?.inputRequests ?? {}) as Record<string, { params: { message: string } }>;
    await eventually(async () => Object.keys(await questions()).length === 2);
    const keyOf = async (message: string) =>
      Object.entries(await questions()).find(([, question]) => question.params.message === message)?.[0] as string;
    const [where, how] = [await keyOf("Where?"), await keyOf("How?")];
    const update = (inputResponses: object) => client.request("tasks/update", { taskId, inputResponses });
    const here = { action: "accept", content: { at: "here" } };
    expect((await update({ [where]: here, unknown: { ignored: true } })).result?.resultType).toBe("complete");
    expect(await got()).toMatchObject({ status: "input_required" });
    expect(Object.keys(await questions())).toEqual([how]);
    await update({ [where]: { action: "decline" } });
    await update({ [how]: { action: "decline" } });
    await eventually(async () => (await got())?.status === "completed");
    expect((await got())?.result).toMatchObject({ structuredContent: { where: here, how: { action: "decline" } } });
  });

  it("a key makes a retry one task here too", async () => {
    let calls = 0;
    const client = await modern((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => {
        calls += 1;
      }),
    );
    const keyed = { _meta: { "io.datalayer/idempotency-key": "k" } };
    expect(await client.create("dig", keyed)).toBe(await client.create("dig", keyed));
    expect(calls).toBe(1);
  });

  it("no progress and no status goes out by itself", async () => {
    const client = await modern((tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => void ctx.task?.sendProgress(1, { message: "one" })),
    );
    const taskId = await client.create("dig", { _meta: { progressToken: 0 } });
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
    expect(client.raw.heard).toEqual([]);
  });
});

describe("undeclared", () => {
  it("declaring is a matter of each request: 200 calls in turn, with and without", async () => {
    const client = await modern((tasks, server) => {
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
      tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "dug");
    });
    const calls = Array.from({ length: 200 }, async (_, i) => {
      const declared = i % 2 === 0;
      const { result } = await client.request(
        "tools/call",
        { name: "dig" },
        { extensions: declared ? [OFFICIAL] : [] },
      );
      expect(result?.resultType).toBe(declared ? "task" : "complete");
      if (!declared) expect(result).toMatchObject({ content: [{ text: "dug" }] });
    });
    await Promise.all(calls);
    const { error } = await client.request("tools/call", { name: "must" }, { extensions: [] });
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [OFFICIAL]: {} } } } });
  });

  it("the methods are refused with -32021 before anything is looked up", async () => {
    const client = await modern(() => {}, [], { ownership: "principal" });
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      expect((await client.request(method, { taskId: "tsk_x" })).error?.code).toBe(-32021);
    }
  });
});

describe("declaring io.datalayer/tasks", () => {
  it("gets our contract: a task when it is asked for, wrapped, with the methods under our name", async () => {
    const running = gate<string>();
    const client = await modern(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise),
      [OURS],
    );
    const { result } = await client.request("tools/call", { name: "dig", task: { ttl: 1000 } });
    const taskId = (result?.task as { taskId?: string } | undefined)?.taskId;
    expect(result).toMatchObject({ resultType: "task", task: { status: "working", ttl: 1000, pollInterval: 1000 } });
    const own = (method: string, params = {}) => client.request(`${OURS}/${method}`, { taskId, ...params });
    expect((await own("result")).error).toMatchObject({ code: -32602, data: { status: "working" } });
    expect((await own("list")).result?.tasks).toMatchObject([{ taskId, ttl: 1000 }]);
    running.open("dug");
    await eventually(async () => (await own("get")).result?.status === "completed");
    expect((await own("result")).result).toMatchObject({ content: [{ text: "dug" }] });
    expect((await own("cancel")).result).toMatchObject({ status: "completed" });
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ taskId, ttl: expect.any(Number) });
    expect((await client.request("tasks/update", { taskId })).error?.code).toBe(-32601);
  });

  it("a call that does not ask runs directly", async () => {
    const client = await modern((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), [OURS]);
    expect((await client.request("tools/call", { name: "dig" })).result).toMatchObject({ content: [{ text: "dug" }] });
  });
});
