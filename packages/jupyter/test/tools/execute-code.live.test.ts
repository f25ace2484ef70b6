/** `execute_code` on real kernels. */
import { createTasks } from "@claimcheck/mcp";
import { afterAll, expect, inject, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { startLive, textOf } from "./live-server.js";

// A server of its own: on a shared one, code may get a kernel that a server of another test has left behind.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const { service } = extra;

test("code runs on a kernel of the server's own, whose variables last", async () => {
  const { connect } = await startLive(service);
  const client = await connect();
  expect(await client.run("execute_code", { code: "x = 6 * 7" })).toMatchObject({
    content: [{ type: "text", text: "[no output]" }],
    structuredContent: { status: "completed", execution_count: 1, kernel: { origin: "started" } },
  });
  const second = await client.run("execute_code", { code: "print('x is'); x" });
  expect(textOf(second)).toBe("x is\n42");
  expect(second.structuredContent).toMatchObject({
    status: "completed",
    execution_count: 2,
    kernel: { origin: "same" },
  });
});

test("code runs on a kernel that is named, such as a notebook's", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const path = await live.notebook(["y = 5"]);
  const { structuredContent } = await client.run("execute_cell", { notebook_path: path, cell_index: 0 });
  const kernel_id = structuredContent?.kernel.id;
  expect(textOf(await client.run("execute_code", { code: "y", kernel_id }))).toBe("5");
  expect((await live.read(path)).cells).toHaveLength(1);
});

test("one person's connections share a kernel and find each other's runs; different owners do neither", async () => {
  const shared = await startLive(service);
  const [a, b] = [await shared.connect(), await shared.connect()];
  const first = await a.run("execute_code", { code: "secret = 1" });
  const { execution_id } = first.structuredContent ?? {};
  expect(textOf(await b.run("execute_code", { code: "secret" }))).toBe("1");
  expect((await b.run("get_execution", { execution_id })).structuredContent).toMatchObject({ status: "completed" });

  const apart = await startLive(service, { tasks: createTasks({ contract: "datalayer", ownership: "session" }) });
  const [c, d] = [await apart.connect(), await apart.connect()];
  const own = await c.run("execute_code", { code: "secret = 1" });
  expect(textOf(await d.run("execute_code", { code: "secret" }))).toContain("NameError");
  const found = await d.run("get_execution", { execution_id: own.structuredContent?.execution_id });
  expect(found).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("No execution has the id") }],
  });
});

test("the tools are listed the same on every connection, and say which can be tasks", async () => {
  const live = await startLive(service);
  const [a, b] = [await live.connect(), await live.connect({ extensions: [] })];
  const { result } = await a.request("tools/list", {});
  expect((await b.request("tools/list", {})).result).toEqual(result);
  const tools = (result as { tools: { name: string; execution?: object; inputSchema: object }[] }).tools;
  expect(tools.map(({ name, execution }) => [name, execution])).toEqual([
    ["execute_code", { taskSupport: "optional" }],
    ["execute_cell", { taskSupport: "optional" }],
    ["get_execution", undefined],
  ]);
  expect(tools[1]?.inputSchema).toMatchObject({
    properties: { cell_index: { type: "integer", minimum: 0 }, stream: { type: "boolean", default: true } },
  });
});
