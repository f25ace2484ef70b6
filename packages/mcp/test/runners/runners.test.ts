/** What a tool may be registered with, by its runner: what is wrong is refused then, not when somebody calls. */
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTasks } from "../../src/index.js";
import { scene } from "../wire/servers.js";

const module = new URL("../programs/worker-tools.mjs", import.meta.url);

function registering() {
  const tasks = createTasks();
  onTestFinished(() => tasks.close());
  const server = new McpServer({ name: "test", version: "0" });
  const register = tasks.registerTool.bind(tasks, server, "dig") as (config: object, handler: unknown) => void;
  return (runner: unknown, handler: unknown) => register({ execution: { runner } }, handler);
}

describe("a wrong combination is refused, with the reason, and registers nothing", () => {
  it.each([
    ["thread", () => "dug", 'Tool dig names the runner "thread"; there are async, worker, subprocess.'],
    ["toString", () => "dug", "there are async, worker, subprocess."],
    [
      undefined,
      { module },
      'has the runner "async", so its handler must be a function. A module is what the runner "worker"',
    ],
    ["async", undefined, 'has the runner "async", so its handler must be a function.'],
    ["subprocess", { argv: ["ls"] }, "its handler must be a function that makes its command."],
    ["subprocess", { module }, 'A module is what the runner "worker" takes.'],
    ["worker", () => "dug", "a function cannot be handed to a thread, a module can"],
    ["worker", null, "its handler must be { module, export }"],
    ["worker", {}, 'module must be a file: URL, such as new URL("./work.js", import.meta.url); it is undefined'],
    ["worker", { module: "./work.js" }, "module must be a file: URL"],
    ["worker", { module: "work" }, "module must be a file: URL"],
    ["worker", { module: "https://example.com/work.js" }, "module must be a file: URL"],
    ["worker", { module: new URL("./nowhere.js", import.meta.url) }, "there is no file"],
    ["worker", { module, export: "" }, "export must be the name of a function"],
    ["worker", { module, export: 7 }, "export must be the name of a function"],
  ])("runner %j with %j", (runner, handler, why) => {
    const register = registering();
    expect(() => register(runner, handler)).toThrow(why);
    expect(() => register("async", () => "dug")).not.toThrow();
  });

  it.each([module, module.href, module.pathname])("a module is named by its URL or its whole path: %s", (named) => {
    expect(() => registering()("worker", { module: named, export: "where" })).not.toThrow();
  });

  it.each([
    ["max", 0],
    ["idleMs", Number.NaN],
    ["maxHeapMb", -1],
  ])("workerThreads.%s of %d is refused", (name, value) => {
    expect(() => createTasks({ workerThreads: { [name]: value } })).toThrow(`workerThreads: ${name} must be`);
  });
});

it("clients are shown whether a tool can be a task, and nothing of where it runs", async () => {
  const { connect } = scene((tasks, server) => {
    const worker = { taskSupport: "optional", runner: "worker" } as const;
    tasks.registerTool(server, "count", { execution: worker }, { module, export: "where" });
    const subprocess = { taskSupport: "required", runner: "subprocess" } as const;
    tasks.registerTool(server, "list", { execution: subprocess }, () => ({ argv: ["ls"] }));
  });
  const client = await connect();
  const { tools } = (await client.request("tools/list")).result as { tools: { name: string; execution: unknown }[] };
  expect(tools.map(({ name, execution }) => ({ name, execution }))).toEqual([
    { name: "count", execution: { taskSupport: "optional" } },
    { name: "list", execution: { taskSupport: "required" } },
  ]);
  expect(JSON.stringify(tools)).not.toMatch(/runner|worker-tools|argv/);
});
