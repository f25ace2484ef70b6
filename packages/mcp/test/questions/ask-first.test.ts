/** Input before there is a task: SEP-2322 rounds, composed with SEP-2663. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { AskFirst } from "../../src/index.js";
import { type ModernClient, modernScene } from "../wire/modern-client.js";

const FORMS = { capabilities: { elicitation: {} } };
const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const name = (text: string) => ({ action: "accept", content: { name: text } });

async function scene(askFirst: AskFirst, taskSupport: "optional" | "required" | "forbidden" = "required") {
  const runs: unknown[] = [];
  const { connect, tasks } = await modernScene((own, server) =>
    own.registerTool(server, "greet", { execution: { taskSupport }, askFirst }, (_args, ctx) => {
      runs.push(ctx.answers);
      return JSON.stringify(ctx.answers);
    }),
  );
  return { client: connect(FORMS), connect, runs, tasks };
}

async function textOf(client: ModernClient, taskId: string): Promise<unknown> {
  await eventually(async () => (await client.get(taskId)).status === "completed");
  const { result } = await client.get(taskId);
  return JSON.parse((result as { content: [{ text: string }] }).content[0].text);
}

const once: AskFirst = () => ({ who: { message: "Who?", requestedSchema: NAME } });

/** Asks for a second name where the first was short. */
const twice: AskFirst = (_args, answers) => {
  const first = (answers.who as { content?: { name?: string } } | undefined)?.content?.name;
  const more = first !== undefined && first.length < 3;
  return {
    who: { message: "Who?", requestedSchema: NAME },
    ...(more && { really: { message: `Only ${first}?`, requestedSchema: NAME } }),
  };
};

describe("a tool that asks first", () => {
  it("answers its questions and no task; the call with the answers is the task, which knows nothing of rounds", async () => {
    const { client, runs } = await scene(once);
    const { result } = await client.call("greet");
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create", params: { message: "Who?" } } },
    });
    expect(result).not.toHaveProperty("taskId");
    expect(runs).toEqual([]);
    const created = (await client.call("greet", { inputResponses: { who: name("Ada") } })).result;
    expect(created).toMatchObject({ resultType: "task", status: "working" });
    for (const member of ["inputRequests", "requestState"]) expect(created).not.toHaveProperty(member);
    expect(await textOf(client, created?.taskId as string)).toEqual({ who: name("Ada") });
  });

  it("may need several rounds: what was answered travels in requestState", async () => {
    const { client, runs } = await scene(twice);
    const first = (await client.call("greet", { inputResponses: { who: name("Al") } })).result;
    expect(first).toMatchObject({ resultType: "input_required", inputRequests: { really: {} } });
    expect(Object.keys(first?.inputRequests as object)).toEqual(["really"]);
    const { requestState } = first as { requestState: string };
    const second = await client.call("greet", { requestState, inputResponses: { really: name("Alan") } });
    expect(await textOf(client, second.result?.taskId as string)).toEqual({ who: name("Al"), really: name("Alan") });
    expect(runs).toHaveLength(1);
  });

  it("takes no requestState that was changed, or made for another tool", async () => {
    const { client } = await scene(twice);
    const { requestState = "" } = ((await client.call("greet", { inputResponses: { who: name("Al") } })).result ??
      {}) as { requestState?: string };
    for (const changed of [`${requestState}x`, requestState.slice(0, -2), "claimcheck.first.v1.e30.AAAA"]) {
      const { error } = await client.call("greet", { requestState: changed, inputResponses: { really: name("A") } });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("requestState") });
    }
  });

  it("refuses an answer that its schema refuses, and asks again for what is missing", async () => {
    const { client, runs } = await scene(once);
    const refused = await client.call("greet", { inputResponses: { who: { action: "accept", content: { name: 5 } } } });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining('"who"') });
    const again = await client.call("greet", { inputResponses: { stranger: name("x") } });
    expect(again.result).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    expect(runs).toEqual([]);
  });

  it("hears that the person declined", async () => {
    const { client } = await scene(once);
    const { result } = await client.call("greet", { inputResponses: { who: { action: "decline" } } });
    expect(await textOf(client, result?.taskId as string)).toEqual({ who: { action: "decline" } });
  });

  it("answers -32021 and what is missing to a client that cannot be asked", async () => {
    const { connect } = await scene(once);
    const { error } = await connect({}).call("greet");
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } });
  });

  it("asks a direct call in the same way", async () => {
    const { connect } = await scene(once, "optional");
    const plain = connect({ ...FORMS, extensions: [] });
    expect((await plain.call("greet")).result).toMatchObject({ resultType: "input_required" });
    const { result } = await plain.call("greet", { inputResponses: { who: name("Ada") } });
    expect(result).toMatchObject({ resultType: "complete", content: [{ text: JSON.stringify({ who: name("Ada") }) }] });
  });

  it("validates its arguments before it asks", async () => {
    const { connect } = await modernScene((own, server) => {
      const inputSchema = z.object({ depth: z.number() });
      own.registerTool(server, "dig", { inputSchema, askFirst: once as never }, () => "dug");
    });
    const { result } = await connect(FORMS).call("dig", { arguments: { depth: "deep" } });
    expect(result).toMatchObject({ isError: true });
  });
});
