/** What clients are told of tasks, where they look for it. */
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { createTasks } from "../../src/index.js";
import { gate } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

it("a 2025-era client finds them in its capabilities, and the settings of our extension under its name", async () => {
  const { connect } = scene(() => {}, { defaultTtlMs: 1000, maxTtlMs: 2000 });
  const { result } = await (await connect("none")).initialize();
  expect(result?.capabilities).toMatchObject({
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    extensions: {
      "io.datalayer/tasks": { defaultTtlMs: 1000, maxTtlMs: 2000, pollIntervalMs: 1000 },
    },
  });
});

it("the official extension's value is exactly {}", async () => {
  const { connect } = scene(() => {});
  const { result } = await (await connect("none")).initialize();
  expect(result?.capabilities).toHaveProperty(["extensions", "io.modelcontextprotocol/tasks"], {});
  expect(result).not.toHaveProperty(["capabilities", "extensions", "io.modelcontextprotocol/tasks", "defaultTtlMs"]);
});

it("tools/list shows whether a tool runs as a task, and nothing of how it is run", async () => {
  const { connect } = scene((tasks, server) => {
    for (const taskSupport of ["optional", "required"] as const) {
      const config = {
        execution: { taskSupport, runner: "async" as const },
        maxRunMs: 5,
        ttl: 7,
        recovery: "retry" as const,
      };
      tasks.registerTool(server, taskSupport, { ...config, description: "digs" }, () => "dug");
    }
    const execution = { taskSupport: "forbidden", runner: "async" } as const;
    tasks.registerTool(server, "forbidden", { execution, description: "digs" }, () => "dug");
    tasks.registerTool(server, "plain", { description: "digs" }, () => "dug");
  });
  const { result } = await (await connect()).request("tools/list");
  const described = { description: "digs", inputSchema: { type: "object", properties: {} } };
  expect(result?.tools).toEqual([
    { name: "optional", ...described, execution: { taskSupport: "optional" } },
    { name: "required", ...described, execution: { taskSupport: "required" } },
    { name: "forbidden", ...described },
    { name: "plain", ...described },
  ]);
});

it("the binding refuses to construct when one of the methods is served already, and names it", () => {
  for (const method of ["tasks/get", "tasks/list", "tasks/cancel", "tasks/result", "tasks/update"]) {
    const server = new McpServer({ name: "test", version: "0" });
    const anything = {
      "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
    } as const;
    server.server.setRequestHandler(method, { params: anything }, () => ({}));
    expect(() => createTasks().bind(server)).toThrow(`${method} is served on this McpServer already`);
  }
});

it("binding a server twice changes nothing; two sets of tasks on one server are refused", () => {
  const server = new McpServer({ name: "test", version: "0" });
  const tasks = createTasks();
  tasks.bind(server);
  expect(() => tasks.bind(server)).not.toThrow();
  expect(() => createTasks().bind(server)).toThrow("is served on this McpServer already");
});

it("tasks that have not been opened refuse a call that needs them, and serve the others", async () => {
  const { tasks, connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
  const client = await connect();
  await tasks.close();
  expect((await client.call("dig", { task: {} })).error?.code).toBe(-32603);
  expect((await client.call("dig")).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("a task's handler reads who called it, and no more of the request than the server keeps", async () => {
  const seen: unknown[] = [];
  const running = gate();
  const { connect } = scene((tasks, server) =>
    tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => {
      seen.push(ctx.request);
      await running.promise;
    }),
  );
  const client = await connect();
  void client.call("dig", { _meta: { secret: "s" } });
  await client.callTask("dig", { _meta: { secret: "s" } });
  expect(seen).toHaveLength(2);
  for (const request of seen) {
    expect(request).toEqual({
      clientCapabilities: {},
      owner: expect.stringContaining("session"),
      clientInfo: { name: "test-client", version: "0" },
    });
  }
  running.open();
});
