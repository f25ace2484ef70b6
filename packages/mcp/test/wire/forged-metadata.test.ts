/** Reserved metadata that is forged or malformed: it decides nothing, and costs at most its own request. */
import { expect, it } from "vitest";
import { modernScene } from "./modern-client.js";
import { envelope } from "./raw-client.js";
import { OPTIONAL, scene, untilStopped } from "./servers.js";

const RELATED = "io.modelcontextprotocol/related-task";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const OFFICIAL = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const digging = (options: object = {}) =>
  scene((tasks, server) => {
    tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
    tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "dug");
    tasks.registerTool(server, "long", OPTIONAL, (_args, ctx) => untilStopped(ctx));
  }, options);

it("an extension of 2026 that is declared in a request of 2025 counts as absent", async () => {
  const client = await digging().connect();
  const _meta = { [CAPABILITIES]: OFFICIAL };
  expect((await client.call("dig", { _meta })).result).toMatchObject({ content: [{ text: "dug" }] });
  expect((await client.call("must", { _meta })).error?.code).toBe(-32601);
});

it("only the 2025 capabilities of tasks in a request of 2026 are no declaration", async () => {
  const { connect } = await modernScene((tasks, server) => {
    tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
    tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "dug");
  });
  const client = connect({ extensions: [], capabilities: { tasks: { requests: { tools: { call: {} } } } } });
  expect((await client.call("dig")).result).toMatchObject({ resultType: "complete", content: [{ text: "dug" }] });
  expect((await client.call("must")).error?.code).toBe(-32021);
  expect((await client.request("tasks/get", { taskId: "tsk_x" })).error?.code).toBe(-32021);
});

it("related-task metadata that names another owner's task never decides which task is meant", async () => {
  const { connect } = digging();
  const [client, other] = [await connect(), await connect()];
  const foreign = await other.callTask("long");
  const mine = await client.callTask("long");
  const _meta = { [RELATED]: { taskId: foreign.taskId } };
  const ask = (method: string) => client.request(method, { taskId: mine.taskId, _meta });
  expect((await ask("tasks/get")).result).toMatchObject({ taskId: mine.taskId, status: "working" });
  expect((await ask("tasks/cancel")).result).toMatchObject({ taskId: mine.taskId, status: "cancelled" });
  expect((await ask("tasks/result")).error?.code).toBe(-32603);
  expect((await other.request("tasks/get", { taskId: foreign.taskId })).result).toMatchObject({ status: "working" });
});

it("stray members of params, task and metadata are neither errors nor echoed", async () => {
  const stray = "stray-member";
  const client = await digging().connect();
  const created = await client.call("dig", { task: { [stray]: 1, ttl: null }, [stray]: 1, _meta: { [stray]: 1 } });
  const { taskId } = (created.result as { task: { taskId: string } }).task;
  const replies = [created];
  for (const method of ["tasks/result", "tasks/get", "tasks/list"]) {
    replies.push(await client.request(method, { taskId, [stray]: { deep: [1] }, task: { [stray]: 1 } }));
  }
  for (const reply of replies) {
    expect(reply.error).toBeUndefined();
    expect(JSON.stringify(reply)).not.toContain(stray);
  }
});

it("an envelope of 2026 on a connection that was initialized counts as absent, whole as it may be", async () => {
  const client = await digging().connect();
  const _meta = envelope("io.modelcontextprotocol/tasks");
  expect((await client.call("must", { _meta })).error?.code).toBe(-32601);
  expect((await client.call("dig", { _meta })).result).toMatchObject({ content: [{ text: "dug" }] });
  expect((await client.call("dig", { _meta, task: {} })).result).toMatchObject({ task: { status: "working" } });
});
