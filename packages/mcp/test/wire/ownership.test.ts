/** Who may see a task. */
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createTasks, type TasksOptions } from "../../src/index.js";
import { gate, RawClient } from "./raw-client.js";
import { defaults, OPTIONAL, scene, silent } from "./servers.js";

/** Clients whose requests carry what a token proved. */
function authenticated(options: TasksOptions = {}) {
  const tasks = createTasks({ logger: silent, ...defaults, ...options });
  onTestFinished(() => tasks.close());
  return async (claims: Record<string, unknown> | undefined, clientId = "client") => {
    await tasks.open();
    const server = new McpServer({ name: "test", version: "0" });
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => ({ principal: ctx.request.principal }));
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    await server.connect(serverSide);
    const authInfo = { token: Math.random().toString(), clientId, scopes: [], ...(claims && { extra: claims }) };
    const send = clientSide.send.bind(clientSide);
    clientSide.send = (message) => send(message, claims === undefined ? {} : { authInfo });
    const client = new RawClient(clientSide);
    await client.initialize();
    return client;
  };
}

it("without auth, tasks are scoped to the session", async () => {
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
  const [a, b] = [await connect(), await connect()];
  const { taskId } = await a.callTask("dig");
  expect((await b.request("tasks/get", { taskId })).error).toEqual({ code: -32602, message: "No such task." });
  expect((await b.request("tasks/list")).result).toEqual({ tasks: [] });
  expect((await a.request("tasks/list")).result?.tasks).toHaveLength(1);
});

it("with auth, the same principal can access its tasks across sessions, while a different one cannot", async () => {
  const connect = authenticated();
  const ann = await connect({ iss: "https://id", sub: "ann" });
  const { taskId } = await ann.callTask("dig", { _meta: { "io.datalayer/idempotency-key": "k" } });
  await ann.close();
  const annAgain = await connect({ iss: "https://id", sub: "ann", jti: "another token" });
  expect((await annAgain.request("tasks/result", { taskId })).result).toMatchObject({
    structuredContent: { principal: { issuer: "https://id", subject: "ann", clientId: "client" } },
  });
  const retried = await annAgain.callTask("dig", { _meta: { "io.datalayer/idempotency-key": "k" } });
  expect(retried.taskId).toBe(taskId);
  const bob = await connect({ iss: "https://id", sub: "bob" });
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    expect((await bob.request(method, { taskId })).error).toEqual({ code: -32602, message: "No such task." });
  }
  expect((await bob.request("tasks/list")).result).toEqual({ tasks: [] });
});

it("no identity where one is needed means refused, never shared; a direct call needs none", async () => {
  const connect = authenticated({ ownership: "principal" });
  const nobody = await connect(undefined);
  expect((await nobody.call("dig", { task: {} })).error?.code).toBe(-32600);
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"]) {
    expect((await nobody.request(method, { taskId: "tsk_x" })).error?.code).toBe(-32600);
  }
  expect((await nobody.call("dig")).result?.isError).toBeUndefined();
});

it("what a token proves can be said by the server", async () => {
  const connect = authenticated({ principalOf: ({ extra }) => ({ subject: String(extra?.employee) }) });
  const a = await connect({ employee: 7, sub: "x" });
  const b = await connect({ employee: 7, sub: "y" });
  const { taskId } = await a.callTask("dig");
  expect((await b.request("tasks/get", { taskId })).result).toMatchObject({ taskId });
});

it("a server for one person lets any connection collect, from another connection, after a reconnect", async () => {
  const running = gate<string>();
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
    ownership: "single-user",
  });
  const first = await connect();
  const { taskId } = await first.callTask("dig");
  await first.close();
  running.open("dug");
  const second = await connect();
  expect((await second.request("tasks/list")).result?.tasks).toMatchObject([{ taskId }]);
  expect((await second.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
});

it("one client's end takes nothing from another's tasks, nor from its own", async () => {
  const running = gate<string>();
  const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => running.promise), {
    ownership: "single-user",
  });
  const [a, b] = [await connect(), await connect()];
  const ids = [(await a.callTask("dig")).taskId, (await b.callTask("dig")).taskId];
  const waiting = ids.map((taskId) => b.request("tasks/result", { taskId }));
  await a.close();
  running.open("dug");
  for (const { result } of await Promise.all(waiting)) expect(result).toMatchObject({ content: [{ text: "dug" }] });
});
