/** Which calls become tasks: none does unless its caller asks and its tool allows it. */
import { TaskError } from "@claimcheck/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { recordLog } from "../../../../test/fixtures/log-recorder.js";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const CONTRACTS = ["datalayer", "2025-11-25"] as const;

describe.each(CONTRACTS)("contract %s", (contract) => {
  it("a task is created only when the request carries task metadata", async () => {
    let calls = 0;
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "count", OPTIONAL, (_args, ctx) => {
          calls += 1;
          return ctx.task === null ? "direct" : "task";
        }),
      { contract },
    );
    const client = await connect();
    expect((await client.call("count")).result).toEqual({ content: [{ type: "text", text: "direct" }] });
    expect((await client.request("tasks/list")).result).toEqual({ tasks: [] });
    expect(await client.callTask("count", { task: {} })).toMatchObject({ status: "working" });
    expect(calls).toBe(2);
  });

  it("tools/call answers a CreateTaskResult rather than the tool's output, at once", async () => {
    const running = gate<string>();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      contract,
    });
    const client = await connect();
    const reply = await client.call("dig", { task: { ttl: 900_000 } });
    expect(reply.result).toEqual({
      task: {
        taskId: expect.stringMatching(/^tsk_[\w-]{22}$/),
        status: "working",
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        lastUpdatedAt: expect.any(String),
        ttl: 900_000,
        pollInterval: 1000,
      },
    });
    running.open("done");
  });

  it("the answer is the task as it was created, working, also when the work is over by then", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "quick", OPTIONAL, () => "quick"), {
      contract,
    });
    const client = await connect();
    for (let i = 0; i < 20; i += 1) expect((await client.callTask("quick")).status).toBe("working");
  });

  it.each([
    ["required", undefined, -32601],
    ["forbidden", {}, -32601],
  ] as const)(
    "a tool that has tasks %s, called with task %j, is refused with %i and does not run",
    async (taskSupport, task, code) => {
      let calls = 0;
      const { connect } = scene(
        (tasks, server) =>
          tasks.registerTool(server, "dig", { execution: { taskSupport } }, () => {
            calls += 1;
          }),
        { contract },
      );
      const client = await connect();
      const reply = await client.call("dig", task === undefined ? {} : { task });
      expect(reply.error?.code).toBe(code);
      expect(reply.error?.message).toContain("dig");
      expect(calls).toBe(0);
    },
  );

  it("a tool that says nothing of tasks, or is none of ours, cannot run as one", async () => {
    const { connect } = scene(
      (tasks, server) => {
        tasks.registerTool(server, "ours", {}, () => "ran");
        server.registerTool("foreign", {}, () => ({ content: [{ type: "text", text: "ran" }] }));
      },
      { contract },
    );
    const client = await connect();
    for (const name of ["ours", "foreign"]) {
      expect((await client.call(name, { task: {} })).error?.code).toBe(-32601);
      expect((await client.call(name)).result).toEqual({ content: [{ type: "text", text: "ran" }] });
    }
  });

  it.each([5, "yes", true, [], [{}]])("task: %j is refused with -32602", async (task) => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      contract,
    });
    expect((await (await connect()).call("dig", { task })).error?.code).toBe(-32602);
  });

  it("task: null is no task metadata", async () => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
      contract,
    });
    expect((await (await connect()).call("dig", { task: null })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("an argument named task is not taken for metadata, and stray members are ignored", async () => {
    const seen: unknown[] = [];
    const inputSchema = z.object({ task: z.string() });
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", { ...OPTIONAL, inputSchema }, (args) => void seen.push(args)),
      { contract },
    );
    const client = await connect();
    await client.call("dig", { arguments: { task: "a" } });
    await client.callTask("dig", { arguments: { task: "b" }, task: { ttl: 1000, stray: 1 }, stray: { x: 1 } });
    expect(seen).toEqual([{ task: "a" }, { task: "b" }]);
    expect((await client.request("tasks/list")).result?.tasks).toHaveLength(1);
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "nope"])(
    "a tool named %s that nobody registered is an unknown tool",
    async (name) => {
      const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), {
        contract,
      });
      const client = await connect();
      for (const extra of [{}, { task: {} }]) {
        const { error, result } = await client.call(name, extra);
        expect(error !== undefined || result?.isError === true).toBe(true);
      }
      expect((await client.request("tasks/list")).result?.tasks).toEqual([]);
    },
  );

  it.each([
    [undefined, 900_000],
    [0, 0],
    [1500.7, 1500],
    [86_400_001, 86_400_000],
    [1e15, 86_400_000],
    [null, 86_400_000],
  ])("ttl %j is kept as %i, and what is echoed is what is kept", async (ttl, kept) => {
    const running = gate();
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
      contract,
    });
    const client = await connect();
    const task = await client.callTask("dig", { task: ttl === undefined ? {} : { ttl } });
    expect(task.ttl).toBe(kept);
    expect((await client.request("tasks/get", { taskId: task.taskId })).result?.ttl).toBe(kept);
    running.open();
  });

  it.each([-1, "60000", true, {}, []])("ttl %j is refused with -32602, and nothing runs", async (ttl) => {
    let calls = 0;
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, () => {
          calls += 1;
        }),
      { contract },
    );
    const client = await connect();
    expect((await client.call("dig", { task: { ttl } })).error?.code).toBe(-32602);
    expect(calls).toBe(0);
  });

  it("invalid arguments are refused in the direct call's words, create no task and burn no key", async () => {
    const inputSchema = z.object({ depth: z.number().max(10), tool: z.enum(["spade", "pick"]).default("spade") });
    const seen: unknown[] = [];
    const { connect } = scene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", { ...OPTIONAL, inputSchema }, (args) => void seen.push(args)),
      { contract },
    );
    const client = await connect();
    const _meta = { "io.datalayer/idempotency-key": "k" };
    for (const args of [{}, { depth: "deep" }, { depth: 11 }, { depth: 1, tool: "spoon" }]) {
      const direct = (await client.call("dig", { arguments: args })).result as { content: { text: string }[] };
      const asTask = await client.call("dig", { arguments: args, task: {}, _meta });
      expect(asTask.error).toEqual({ code: -32602, message: direct.content[0]?.text });
    }
    expect(seen).toEqual([]);
    await client.callTask("dig", { arguments: { depth: 3 }, _meta });
    await client.call("dig", { arguments: { depth: 3 } });
    expect(seen).toEqual([
      { depth: 3, tool: "spade" },
      { depth: 3, tool: "spade" },
    ]);
  });
});

it("task metadata is ignored on a connection whose protocol revision has no tasks", async () => {
  const { connect } = scene((tasks, server) => {
    tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
    tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "dug");
  });
  const client = await connect({ protocolVersion: "2025-06-18" });
  for (const name of ["dig", "must"]) {
    expect((await client.call(name, { task: {} })).result).toEqual({ content: [{ type: "text", text: "dug" }] });
  }
});

it("a client that declares io.datalayer/tasks gets that contract, whatever the server is set to", async () => {
  const running = gate();
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise));
  const client = await connect({ extensions: ["io.datalayer/tasks"], protocolVersion: "2025-06-18" });
  const { taskId } = await client.callTask("dig");
  expect((await client.request("tasks/result", { taskId })).error).toMatchObject({
    code: -32602,
    data: { status: "working", pollInterval: 1000 },
  });
  running.open();
});

it.each([
  new Error("/var/secret is full"),
  new TaskError("store_unusable", "The file /var/secret/tasks.db was removed."),
])("a store that refuses the record (%s) leaves no task, runs no tool, and only the log says why", async (error) => {
  const { MemoryStore } = await import("@claimcheck/core");
  class FullDisk extends MemoryStore {
    override create(): Promise<never> {
      return Promise.reject(error);
    }
  }
  const logger = recordLog();
  let calls = 0;
  const { connect } = scene(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, () => {
        calls += 1;
      }),
    { store: new FullDisk(), logger },
  );
  expect((await (await connect()).call("dig", { task: {} })).error).toEqual({
    code: -32603,
    message: "Internal error",
  });
  expect(JSON.stringify(logger.lines)).toContain("/var/secret");
  expect(calls).toBe(0);
});
