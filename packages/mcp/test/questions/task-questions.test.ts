/** Questions of a task on 2026-07-28: SEP-2663, "Input required"; DESIGN of questions: live in the record, checked, one answer each. */
import { settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { QuestionRefusedError, QuestionWithdrawnError, type ToolContext } from "../../src/index.js";
import { type ModernClient, modernScene } from "../wire/modern-client.js";
import { OPTIONAL } from "../wire/servers.js";

const FORMS = { capabilities: { elicitation: {} } };
const BOTH = { capabilities: { elicitation: { form: {}, url: {} } } };
const CONFIRM = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;

async function asking(ask: (ctx: ToolContext) => unknown, declares: object = FORMS) {
  const scene = await modernScene((tasks, server) =>
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => ask(ctx)),
  );
  return { ...scene, client: scene.connect(declares) };
}

async function asked(client: ModernClient, taskId: string, count = 1): Promise<string[]> {
  await eventually(async () => Object.keys(await client.questions(taskId)).length === count);
  return Object.keys(await client.questions(taskId));
}

async function ended(client: ModernClient, taskId: string) {
  await eventually(async () => !["working", "input_required"].includes((await client.get(taskId)).status as string));
  return client.get(taskId);
}

describe("a form", () => {
  it("is in inputRequests as elicitation/create, and its answer reaches the tool", async () => {
    const { client } = await asking((ctx) => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM }));
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    expect(await client.get(taskId)).toMatchObject({ resultType: "complete", status: "input_required" });
    expect((await client.questions(taskId))[key]).toEqual({
      method: "elicitation/create",
      params: { mode: "form", message: "Sure?", requestedSchema: CONFIRM },
    });
    const { result } = await client.update(taskId, { [key]: { action: "accept", content: { sure: true } } });
    expect({ ...result, _meta: undefined }).toEqual({ resultType: "complete" });
    expect(await ended(client, taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { action: "accept", content: { sure: true } } },
    });
  });

  it.each([
    ["content of another type", { action: "accept", content: { sure: "perhaps" } }],
    ["a field that is missing", { action: "accept", content: {} }],
    ["no content", { action: "accept" }],
    ["an unknown action", { action: "perhaps" }],
    ["no object", "yes"],
    ["an answer that looks like a message", { result: { action: "accept" } }],
  ])("an answer with %s is refused with -32602 and the reason, and changes nothing", async (_title, bad) => {
    const { client } = await asking((ctx) => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM }));
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    const before = await client.get(taskId);
    const { error } = await client.update(taskId, { [key]: bad });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(key) });
    expect(await client.get(taskId)).toEqual(before);
    await client.update(taskId, { [key]: { action: "decline" } });
    expect(await ended(client, taskId)).toMatchObject({ result: { structuredContent: { action: "decline" } } });
  });

  it("one bad answer among good ones refuses them all", async () => {
    const { client } = await asking((ctx) =>
      Promise.all([1, 2].map((n) => ctx.elicit({ message: `${n}?`, requestedSchema: CONFIRM }))),
    );
    const taskId = await client.create("dig");
    const [first = "", second = ""] = await asked(client, taskId, 2);
    const good = { action: "accept", content: { sure: true } };
    expect((await client.update(taskId, { [first]: good, [second]: { action: "?" } })).error?.code).toBe(-32602);
    expect(await asked(client, taskId, 2)).toEqual([first, second]);
  });

  it("a Standard Schema is shown as JSON Schema, and its own rules and conversions hold", async () => {
    const requestedSchema = z.object({ depth: z.number().int().min(1) });
    const { client } = await asking(async (ctx) => {
      const answer = await ctx.elicit({ message: "How deep?", requestedSchema });
      const depth: number | undefined = answer.action === "accept" ? answer.content.depth : undefined;
      return `${depth} feet`;
    });
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    expect((await client.questions(taskId))[key]?.params.requestedSchema).toMatchObject({
      type: "object",
      properties: { depth: { type: "integer", minimum: 1 } },
    });
    expect((await client.update(taskId, { [key]: { action: "accept", content: { depth: 0 } } })).error?.code).toBe(
      -32602,
    );
    await client.update(taskId, { [key]: { action: "accept", content: { depth: 3 } } });
    expect(await ended(client, taskId)).toMatchObject({ result: { content: [{ text: "3 feet" }] } });
  });

  it("two questions of one wording in turn have different keys, and a retransmitted answer leaves the second open", async () => {
    const { client } = await asking(async (ctx) => {
      const ask = () => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM });
      return JSON.stringify([await ask(), await ask()]);
    });
    const taskId = await client.create("dig");
    const [first = ""] = await asked(client, taskId);
    const answer = { [first]: { action: "accept", content: { sure: true } } };
    await client.update(taskId, answer);
    await eventually(async () => !Object.keys(await client.questions(taskId)).includes(first));
    const [second = ""] = await asked(client, taskId);
    expect(second).not.toBe(first);
    expect((await client.update(taskId, answer)).error).toBeUndefined();
    expect(await asked(client, taskId)).toEqual([second]);
  });

  it("of twenty answers at once the tool hears the first, and runs on once", async () => {
    let resumed = 0;
    const { client } = await asking(async (ctx) => {
      await ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM });
      resumed += 1;
    });
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    const updates = Array.from({ length: 20 }, () => client.update(taskId, { [key]: { action: "decline" } }));
    for (const { result } of await Promise.all(updates)) expect(result?.resultType).toBe("complete");
    await ended(client, taskId);
    expect(resumed).toBe(1);
  });

  it("three partial answers at once over two connections are all kept", async () => {
    const { client, connect } = await asking(async (ctx) => {
      const answers = await Promise.all([1, 2, 3].map((n) => ctx.elicit({ message: `${n}?`, requestedSchema: {} })));
      return JSON.stringify(answers.map((answer) => (answer.action === "accept" ? answer.content.n : answer.action)));
    });
    const other = connect(FORMS);
    const taskId = await client.create("dig");
    const keys = await asked(client, taskId, 3);
    const given = keys.map((key, n) =>
      [client, other, client][n]?.update(taskId, { [key]: { action: "accept", content: { n } } }),
    );
    for (const reply of await Promise.all(given)) expect(reply?.result?.resultType).toBe("complete");
    expect(await ended(client, taskId)).toMatchObject({ result: { content: [{ text: "[0,1,2]" }] } });
  });
});

describe("other kinds", () => {
  it("a page to open, the client's model and its folders are inputRequests too, several at once", async () => {
    const { client } = await asking(
      async (ctx) =>
        JSON.stringify(
          await Promise.all([
            ctx.elicit({ url: "https://example.com/sign-in" }),
            ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "Hm?" } }], maxTokens: 5 }),
            ctx.listRoots(),
          ]),
        ),
      { capabilities: { elicitation: { url: {} }, sampling: {}, roots: {} } },
    );
    const taskId = await client.create("dig");
    const keys = await asked(client, taskId, 3);
    const questions = Object.values(await client.questions(taskId));
    expect(questions.map(({ method }) => method)).toEqual([
      "elicitation/create",
      "sampling/createMessage",
      "roots/list",
    ]);
    expect(questions[0]?.params).toEqual({
      mode: "url",
      url: "https://example.com/sign-in",
      message: expect.stringContaining("example.com"),
    });
    const [page = "", model = "", folders = ""] = keys;
    expect((await client.update(taskId, { [model]: { roots: [] } })).error?.code).toBe(-32602);
    expect((await client.update(taskId, { [folders]: { action: "accept" } })).error?.code).toBe(-32602);
    const said = { role: "assistant", content: { type: "text", text: "Aha." }, model: "m" };
    const roots = { roots: [{ uri: "file:///work" }] };
    await client.update(taskId, { [page]: { action: "accept" }, [model]: said, [folders]: roots });
    const { result } = await ended(client, taskId);
    const [{ text }] = (result as { content: [{ text: string }] }).content;
    expect(JSON.parse(text)).toEqual([{ action: "accept" }, said, roots]);
  });
});

describe("a client that did not declare it", () => {
  const kinds: [string, (ctx: ToolContext) => Promise<unknown>, object][] = [
    ["forms", (ctx) => ctx.elicit({ message: "?", requestedSchema: CONFIRM }), {}],
    [
      "forms, having declared pages only",
      (ctx) => ctx.elicit({ message: "?", requestedSchema: {} }),
      { elicitation: { url: {} } },
    ],
    ["pages, having declared forms only", (ctx) => ctx.elicit({ url: "https://example.com" }), { elicitation: {} }],
    ["its model", (ctx) => ctx.sample({ messages: [], maxTokens: 1 }), { elicitation: {} }],
    ["its model with tools", (ctx) => ctx.sample({ messages: [], maxTokens: 1, tools: [] }), { sampling: {} }],
    ["its folders", (ctx) => ctx.listRoots(), { elicitation: {} }],
  ];
  it.each(kinds)(
    "is not asked for %s: the tool hears it at once, with what is missing",
    async (_title, ask, capabilities) => {
      let caught: unknown;
      const { client } = await asking(
        async (ctx) => {
          caught = await ask(ctx).catch((error: unknown) => error);
          throw caught;
        },
        { capabilities },
      );
      const taskId = await client.create("dig");
      expect(await ended(client, taskId)).toMatchObject({ status: "completed", result: { isError: true } });
      expect(caught).toBeInstanceOf(QuestionRefusedError);
      expect(String(caught)).toMatch(/did not declare the capability/);
    },
  );

  it("may answer what another client's task asks: the question is the owner's", async () => {
    const { client, connect } = await asking((ctx) => ctx.elicit({ message: "Sure?", requestedSchema: CONFIRM }), BOTH);
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    await connect({}).update(taskId, { [key]: { action: "cancel" } });
    expect(await ended(client, taskId)).toMatchObject({ result: { structuredContent: { action: "cancel" } } });
  });
});

describe("the end of a question", () => {
  it("is its time-out: the tool hears of it and the task goes on without", async () => {
    let caught: unknown;
    const { client } = await asking(async (ctx) => {
      caught = await ctx.elicit({ message: "?", requestedSchema: {}, timeoutMs: 20 }).catch((error: unknown) => error);
      return "went on";
    });
    const taskId = await client.create("dig");
    expect(await ended(client, taskId)).toMatchObject({ result: { content: [{ text: "went on" }] } });
    expect(caught).toBeInstanceOf(QuestionWithdrawnError);
    expect(caught).toMatchObject({ reason: "timed_out" });
  });

  it("is its task's cancellation: nothing is asked any more, and a late answer is acknowledged and ignored", async () => {
    const { client } = await asking((ctx) => ctx.elicit({ message: "?", requestedSchema: {} }));
    const taskId = await client.create("dig");
    const [key = ""] = await asked(client, taskId);
    await client.request("tasks/cancel", { taskId });
    const cancelled = await client.get(taskId);
    expect(cancelled).toMatchObject({ status: "cancelled" });
    expect(cancelled).not.toHaveProperty("inputRequests");
    expect((await client.update(taskId, { [key]: { action: "accept" } })).result?.resultType).toBe("complete");
    expect(await client.get(taskId)).toEqual(cancelled);
  });

  it.each([0, -1, Number.NaN])("a time-out of %s is refused where it was written", async (timeoutMs) => {
    const { client } = await asking((ctx) => ctx.elicit({ message: "?", requestedSchema: {}, timeoutMs }));
    const taskId = await client.create("dig");
    expect(await ended(client, taskId)).toMatchObject({ result: { isError: true } });
  });
});

it("requireInput and setWorking show without any question", async () => {
  const { client } = await asking(async (ctx) => {
    await ctx.task?.requireInput("Look at the printer.");
    await ctx.cancelToken.wait();
  });
  const taskId = await client.create("dig");
  await eventually(async () => (await client.get(taskId)).status === "input_required");
  expect(await client.get(taskId)).toMatchObject({ statusMessage: "Look at the printer.", inputRequests: {} });
  await settle();
});
