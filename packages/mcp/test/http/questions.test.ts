/** Questions over HTTP, where the request that carries one and the answer to it are exchanges of their own. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import { OPTIONAL } from "../wire/servers.js";
import { HttpClient, messagesOf, replyOf, serving } from "./http-client.js";

const SURE = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;
const yes = { action: "accept", content: { sure: true } };

interface Message {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
}

/** The messages of an open response, one at a time. */
class Stream {
  readonly #messages: AsyncGenerator<Message>;

  constructor(response: Response) {
    this.#messages = messagesOf(response) as AsyncGenerator<Message>;
  }

  async next(): Promise<Message> {
    const { value, done } = await this.#messages.next();
    if (done === true) throw new Error("the stream has ended");
    return value;
  }

  /** The result, past the notifications that come before it. */
  async result(): Promise<unknown> {
    for (;;) {
      const { result, method } = await this.next();
      if (method === undefined) return result;
    }
  }
}

const respond = (client: HttpClient, response: object) =>
  fetch(client.url, {
    method: "POST",
    headers: client.headers,
    body: JSON.stringify({ jsonrpc: "2.0", ...response }),
  });

describe.each([true, false])("2025 clients, with sessions: %s", (sessions) => {
  async function asking() {
    const scene = await serving(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) =>
          ctx.elicit({ message: "Sure?", requestedSchema: SURE }),
        ),
      { auth: { token: "secret" }, sessions },
      { ownership: "single-user" },
    );
    const connect = async () => {
      const client = new HttpClient(scene.serving.url, { authorization: "Bearer secret" });
      await client.initialize([], { elicitation: {} });
      return client;
    };
    const client = await connect();
    const { taskId } = await client.callTask("dig");
    const owner = JSON.stringify(["single-user"]);
    await eventually(async () => (await scene.tasks.runtime.get(owner, taskId))?.status === "input_required");
    return { ...scene, connect, client, taskId };
  }

  it("the stream of tasks/result carries the question; the answer is an exchange of its own", async () => {
    const { client, taskId } = await asking();
    const stream = new Stream(await client.post("tasks/result", { taskId }));
    const question = await stream.next();
    expect(question).toMatchObject({
      method: "elicitation/create",
      params: { message: "Sure?", _meta: { "io.modelcontextprotocol/related-task": { taskId } } },
    });
    const taken = await respond(client, { id: question.id, result: yes });
    expect([taken.status, await taken.text()]).toEqual([202, ""]);
    expect(await stream.result()).toMatchObject({ structuredContent: yes });
  });

  it("a client that only polls gets it on the stream of its second poll, and not again with the next", async () => {
    const { client, taskId } = await asking();
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ status: "input_required" });
    const stream = new Stream(await client.post("tasks/get", { taskId }));
    const question = await stream.next();
    expect(question.method).toBe("elicitation/create");
    expect((await stream.next()).result).toMatchObject({ status: "input_required" });
    const third = new Stream(await client.post("tasks/get", { taskId }));
    expect((await third.next()).result).toMatchObject({ status: "input_required" });
    await respond(client, { id: question.id, result: yes });
    expect((await client.request("tasks/get", { taskId })).result?.status).not.toBe("input_required");
  });

  it("a stream that broke off took nothing with it: the next tasks/result asks again, under another id", async () => {
    const { client, taskId } = await asking();
    const controller = new AbortController();
    const broken = new Stream(await client.post("tasks/result", { taskId }, { signal: controller.signal }));
    const first = await broken.next();
    controller.abort();
    const again = await new Stream(await client.post("tasks/result", { taskId })).next();
    expect(again.method).toBe("elicitation/create");
    expect(again.id).not.toBe(first.id);
    // The answer to the first is as good.
    await respond(client, { id: first.id, result: yes });
    const { result } = await client.request("tasks/result", { taskId });
    expect(result).toMatchObject({ structuredContent: yes });
  });

  it("the answer may come from another connection of the owner's", async () => {
    const { client, connect, taskId } = await asking();
    const stream = new Stream(await client.post("tasks/result", { taskId }));
    const question = await stream.next();
    const other = await connect();
    await respond(other, { id: question.id, result: yes });
    expect((await replyOf(await other.post("tasks/result", { taskId }))).result).toMatchObject({
      structuredContent: yes,
    });
    expect(await stream.result()).toMatchObject({ structuredContent: yes });
  });

  it("a response that answers nothing of ours is the SDK's to judge, and one to a foreign task changes nothing", async () => {
    const { client, taskId } = await asking();
    expect((await respond(client, { id: 7, result: {} })).status).toBeLessThan(500);
    const foreign = await respond(client, { id: "claimcheck/tsk_00000000000000000000000000/q1_x/abc", result: yes });
    expect(foreign.status).toBe(202);
    expect((await client.request("tasks/get", { taskId })).result?.status).toBe("input_required");
  });

  it("a person who does not answer holds nothing up: the server closes at once", async () => {
    const { client, serving: served, taskId } = await asking();
    await client.post("tasks/result", { taskId });
    const startedAt = performance.now();
    await served.close();
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });
});

describe("a direct call of a client of 2025", () => {
  const ASKS: Record<string, (ctx: ToolContext) => Promise<unknown>> = {
    elicit: (ctx) => ctx.elicit({ message: "Sure?", requestedSchema: SURE }),
    sample: (ctx) => ctx.sample({ messages: [], maxTokens: 1 }),
    listRoots: (ctx) => ctx.listRoots(),
  };

  async function connect(sessions: boolean, capabilities: object): Promise<HttpClient> {
    const { serving: served } = await serving(
      (tasks, server) => {
        for (const [name, ask] of Object.entries(ASKS)) {
          tasks.registerTool(server, name, OPTIONAL, async (_args, ctx) => JSON.stringify(await ask(ctx)));
        }
      },
      { auth: "none", sessions },
      { ownership: "single-user" },
    );
    const client = new HttpClient(served.url);
    await client.initialize([], capabilities);
    return client;
  }

  it.each([
    ["elicit", "elicitation/create", yes],
    ["sample", "sampling/createMessage", { role: "assistant", model: "m", content: { type: "text", text: "yes" } }],
    ["listRoots", "roots/list", { roots: [] }],
  ])("is asked on the call's own stream, and need not have the session's open: %s", async (name, method, result) => {
    const client = await connect(true, { elicitation: { form: {} }, sampling: {}, roots: {} });
    const stream = new Stream(await client.post("tools/call", { name, arguments: {} }));
    const question = await stream.next();
    expect(question.method).toBe(method);
    await respond(client, { id: question.id, result });
    const [{ text }] = ((await stream.result()) as { content: [{ text: string }] }).content;
    expect(JSON.parse(text)).toEqual(result);
  });

  it.each([
    ["that did not declare it", true],
    ["of whom nothing is known, since the request stands alone,", false],
  ])("%s is not asked: the tool gets an error", async (_which, sessions) => {
    const client = await connect(sessions, {});
    for (const name of Object.keys(ASKS)) {
      const { result } = await client.request("tools/call", { name, arguments: {} });
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("did not declare") }] });
    }
  });
});
