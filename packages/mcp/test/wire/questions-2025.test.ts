/**
 * Questions in the dialects of 2025, on one connection: 2025-11-25, "Input Required Status" (elicitation with
 * related-task metadata, while `tasks/result` is open), and for clients that fetch no result before the end.
 */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import type { Heard, RawClient, Reply } from "./raw-client.js";
import { OPTIONAL, scene } from "./servers.js";

const SURE = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;
const yes = { action: "accept", content: { sure: true } };
const ELICITATION = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

type Asked = Heard & { id: string };

const asked = (client: RawClient): Asked[] => client.heard.filter((message): message is Asked => "id" in message);

async function next(client: RawClient, count = 1): Promise<Asked> {
  await eventually(() => asked(client).length >= count);
  return asked(client)[count - 1] as Asked;
}

const respond = (client: RawClient, { id }: Asked, response: object): Promise<void> =>
  client.send({ jsonrpc: "2.0", id, ...response });

describe.each(["2025-11-25", "datalayer"] as const)("in contract %s", (contract) => {
  async function asking(ask: (ctx: ToolContext) => unknown, capabilities: object = ELICITATION) {
    const { connect, tasks } = scene(
      (own, server) => own.registerTool(server, "dig", OPTIONAL, (_args, ctx) => ask(ctx)),
      { contract, ownership: "single-user" },
    );
    const client = await connect({ capabilities });
    return { client, connect: (declared = capabilities) => connect({ capabilities: declared }), tasks };
  }

  const sure = (ctx: ToolContext) => ctx.elicit({ message: "Sure?", requestedSchema: SURE });

  async function inputRequired(client: RawClient, taskId: string): Promise<void> {
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "input_required");
  }

  /** Without a poll, which would count. */
  async function isAsked(tasks: Awaited<ReturnType<typeof asking>>["tasks"], taskId: string): Promise<void> {
    const owner = JSON.stringify(["single-user"]);
    await eventually(async () => (await tasks.runtime.get(owner, taskId))?.status === "input_required");
  }

  it("tasks/result at input_required stays open, carries the question once, and answers the result", async () => {
    const { client, tasks } = await asking(sure);
    const { taskId } = await client.callTask("dig");
    await isAsked(tasks, taskId);
    const result = client.request("tasks/result", { taskId });
    const question = await next(client);
    expect(question).toMatchObject({
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "Sure?",
        requestedSchema: SURE,
        _meta: { "io.modelcontextprotocol/related-task": { taskId } },
      },
    });
    await respond(client, question, { result: yes });
    expect((await result).result).toMatchObject({ structuredContent: yes });
    expect(asked(client)).toHaveLength(1);
  });

  it("a client that only polls gets it with its second poll, and once", async () => {
    const { client, tasks } = await asking(sure);
    const { taskId } = await client.callTask("dig");
    await isAsked(tasks, taskId);
    expect((await client.request("tasks/get", { taskId })).result?.status).toBe("input_required");
    expect(asked(client)).toEqual([]);
    for (let polls = 0; polls < 5; polls += 1) await client.request("tasks/get", { taskId });
    expect(asked(client)).toHaveLength(1);
    await respond(client, await next(client), { result: yes });
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.status === "completed");
  });

  it("a client that opens tasks/result and goes on polling gets it once", async () => {
    const { client, tasks } = await asking(sure);
    const { taskId } = await client.callTask("dig");
    await isAsked(tasks, taskId);
    const result = client.request("tasks/result", { taskId });
    for (let polls = 0; polls < 5; polls += 1) await client.request("tasks/get", { taskId });
    const second = client.request("tasks/result", { taskId });
    await client.request("ping");
    expect(asked(client)).toHaveLength(1);
    await respond(client, await next(client), { result: { action: "decline" } });
    expect((await result).result).toMatchObject({ structuredContent: { action: "decline" } });
    await second;
  });

  it("several are asked at once, in their order, and one after another, under ids never used before", async () => {
    const { client } = await asking(async (ctx) => {
      await Promise.all([sure(ctx), ctx.elicit({ url: "https://example.com/sign-in" })]);
      await sure(ctx);
      return "dug";
    });
    const { taskId } = await client.callTask("dig");
    await inputRequired(client, taskId);
    const result = client.request("tasks/result", { taskId });
    await next(client, 2);
    const [form, page] = asked(client) as [Asked, Asked];
    expect(page.params).toMatchObject({
      mode: "url",
      url: "https://example.com/sign-in",
      elicitationId: expect.any(String),
    });
    await respond(client, page, { result: { action: "accept" } });
    await respond(client, form, { result: yes });
    await respond(client, form, { result: yes });
    const third = await next(client, 3);
    await respond(client, third, { result: yes });
    expect((await result).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(new Set(asked(client).map(({ id }) => id)).size).toBe(3);
  });

  it.each([
    ["an error", { error: { code: -1, message: "User interface is gone" } }, /User interface is gone/],
    ["content that the schema refuses", { result: { action: "accept", content: { sure: "?" } } }, /does not match/],
    ["nonsense", { result: { yes: true } }, /refused/],
  ])("a client that answers with %s is no person who declined: the tool is told", async (_title, response, said) => {
    const { client } = await asking((ctx) => sure(ctx).catch((error: Error) => `${error.name}: ${error.message}`));
    const { taskId } = await client.callTask("dig");
    const result = inputRequired(client, taskId).then(() => client.request("tasks/result", { taskId }));
    await respond(client, await next(client), response);
    const content = [{ text: expect.stringMatching(/^QuestionRefusedError/) }];
    const reply = await result;
    expect(reply.result).toMatchObject({ content });
    expect(JSON.stringify(reply.result)).toMatch(said);
  });

  it("the answer goes to the question of the id, whatever its metadata says, and of its owner only", async () => {
    const { client, connect, tasks } = await asking(sure);
    const first = await client.callTask("dig");
    const second = await client.callTask("dig");
    await isAsked(tasks, first.taskId);
    const result = client.request("tasks/result", first);
    const question = await next(client);
    const _meta = { "io.modelcontextprotocol/related-task": { taskId: second.taskId } };
    // On another connection of the same owner.
    await respond(await connect(), question, { result: { ...yes, _meta } });
    expect((await result).result).toMatchObject({ structuredContent: yes });
    expect((await client.request("tasks/get", second)).result?.status).toBe("input_required");
  });

  it("what is settled elsewhere is taken back from the client, and a response to what is not asked is ignored", async () => {
    const { client, connect, tasks } = await asking(sure);
    const { taskId } = await client.callTask("dig");
    await isAsked(tasks, taskId);
    const other = await connect();
    const results = [client, other].map((each) => each.request("tasks/result", { taskId }));
    const mine = await next(client);
    const theirs = await next(other);
    await respond(other, theirs, { result: yes });
    for (const { result } of await Promise.all(results)) expect(result).toMatchObject({ structuredContent: yes });
    const cancelled = (each: RawClient) => each.heard.filter(({ method }) => method === "notifications/cancelled");
    expect(cancelled(client)).toMatchObject([{ params: { requestId: mine.id } }]);
    expect(cancelled(other)).toEqual([]);
    await respond(client, mine, { result: { action: "decline" } });
    for (const id of ["claimcheck/tsk_x/q1/abc", "claimcheck/", "claimcheck/a/b/c/d"]) {
      await client.send({ jsonrpc: "2.0", id, result: {} });
    }
    expect((await client.request("ping")).result).toEqual({});
  });

  it("cancelling the task takes the question back", async () => {
    const { client, tasks } = await asking(sure);
    const { taskId } = await client.callTask("dig");
    await isAsked(tasks, taskId);
    const result = client.request("tasks/result", { taskId });
    const { id } = await next(client);
    await client.request("tasks/cancel", { taskId });
    expect((await result).error).toBeDefined();
    expect(client.heard).toContainEqual(
      expect.objectContaining({
        method: "notifications/cancelled",
        params: expect.objectContaining({ requestId: id }),
      }),
    );
  });

  it("the model and the folders of the client are asked for too", async () => {
    const { client } = await asking(async (ctx) => {
      const said = await ctx.sample({ messages: [], maxTokens: 5 });
      const { roots } = await ctx.listRoots();
      return JSON.stringify([said.model, roots]);
    });
    const { taskId } = await client.callTask("dig");
    const result = inputRequired(client, taskId).then(() => client.request("tasks/result", { taskId }));
    const sampling = await next(client);
    expect(sampling.method).toBe("sampling/createMessage");
    const said = { role: "assistant", content: { type: "text", text: "Hm." }, model: "m" };
    await respond(client, sampling, { result: said });
    const roots = await next(client, 2);
    expect(roots).toMatchObject({ method: "roots/list" });
    await respond(client, roots, { result: { roots: [{ uri: "file:///work" }] } });
    expect((await result).result).toMatchObject({ content: [{ text: '["m",[{"uri":"file:///work"}]]' }] });
  });

  it("a client that did not declare it is never asked", async () => {
    const { client } = await asking(sure, {});
    const { taskId } = await client.callTask("dig");
    const reply: Reply = await client.request("tasks/result", { taskId });
    const text = JSON.stringify(reply);
    if (reply.error?.code !== -32602) expect(text).toContain("did not declare the capability");
    await eventually(
      async () =>
        !["working", "input_required"].includes(
          (await client.request("tasks/get", { taskId })).result?.status as string,
        ),
    );
    expect(asked(client)).toEqual([]);
  });

  it.each([
    ["nothing", {}],
    ["pages and no forms", { elicitation: { url: {} } }],
  ])(
    "a client that declared %s is not asked what another one's task asks, whose client still is",
    async (_title, other) => {
      const { client, connect, tasks } = await asking(sure);
      const { taskId } = await client.callTask("dig");
      await isAsked(tasks, taskId);
      const undeclared = await connect(other);
      for (let polls = 0; polls < 3; polls += 1) await undeclared.request("tasks/get", { taskId });
      const results = [undeclared, client].map((each) => each.request("tasks/result", { taskId }));
      await undeclared.request("ping");
      await respond(client, await next(client), { result: yes });
      for (const { result } of await Promise.all(results)) expect(result).toMatchObject({ structuredContent: yes });
      expect(asked(undeclared)).toEqual([]);
    },
  );

  it("in a direct call is the SDK's own request, checked in the same way", async () => {
    const { client } = await asking(sure);
    const call = client.call("dig");
    await respond(client, await next(client), { result: yes });
    expect((await call).result).toMatchObject({ structuredContent: yes });
    const refused = client.call("dig");
    await respond(client, await next(client, 2), { error: { code: -1, message: "gone" } });
    expect((await refused).result).toMatchObject({ isError: true });
    const empty = client.call("dig");
    await respond(client, await next(client, 3), { result: { action: "accept" } });
    expect((await empty).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("does not match the requested schema") }],
    });
  });

  it("that a tool asks first are asked when its work begins, by a task and by a direct call", async () => {
    const { connect } = scene(
      (own, server) =>
        own.registerTool(
          server,
          "greet",
          { ...OPTIONAL, askFirst: () => ({ sure: { message: "Sure?", requestedSchema: SURE } }) },
          (_args, ctx) => JSON.stringify(ctx.answers),
        ),
      { contract },
    );
    const client = await connect({ capabilities: ELICITATION });
    const { taskId } = await client.callTask("greet");
    const result = inputRequired(client, taskId).then(() => client.request("tasks/result", { taskId }));
    await respond(client, await next(client), { result: yes });
    expect((await result).result).toMatchObject({ content: [{ text: JSON.stringify({ sure: yes }) }] });
    const call = client.call("greet");
    await respond(client, await next(client, 2), { result: yes });
    expect((await call).result).toMatchObject({ content: [{ text: JSON.stringify({ sure: yes }) }] });
  });
});
