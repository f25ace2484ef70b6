/** `ctx.elicit` in a direct call: the SDK's own request on 2025, rounds of the call (SEP-2322) on 2026. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import { modernScene } from "../wire/modern-client.js";

const PLAIN = { extensions: [], capabilities: { elicitation: {} } };
const SURE = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const yes = { action: "accept", content: { sure: true } };

async function scene(ask: (ctx: ToolContext) => unknown) {
  const made = await modernScene((tasks, server) => tasks.registerTool(server, "dig", {}, (_args, ctx) => ask(ctx)));
  return { ...made, client: made.connect(PLAIN) };
}

interface Round {
  inputRequests: Record<string, { params: { message: string } }>;
  requestState: string;
}

describe("on 2026-07-28", () => {
  it("the call is answered with its question, and goes on where it stood: the handler runs once", async () => {
    let runs = 0;
    const { client } = await scene(async (ctx) => {
      runs += 1;
      const first = await ctx.elicit({ message: "First?", requestedSchema: SURE });
      const second = await ctx.elicit({ message: "Second?", requestedSchema: SURE });
      return JSON.stringify([first, second]);
    });
    let round = (await client.call("dig")).result as unknown as Round;
    for (const message of ["First?", "Second?"]) {
      expect(round).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
      const [[key, question] = ["", undefined]] = Object.entries(round.inputRequests);
      expect(question?.params.message).toBe(message);
      const reply = await client.call("dig", { requestState: round.requestState, inputResponses: { [key]: yes } });
      round = reply.result as unknown as Round;
    }
    expect(round).toMatchObject({ resultType: "complete", content: [{ text: JSON.stringify([yes, yes]) }] });
    expect(runs).toBe(1);
  });

  it("questions asked together go out together; a partial answer leaves the other", async () => {
    const { client } = await scene((ctx) =>
      Promise.all(["A", "B"].map((message) => ctx.elicit({ message, requestedSchema: SURE }))).then(JSON.stringify),
    );
    const first = (await client.call("dig")).result as unknown as Round;
    const [a = "", b = ""] = Object.keys(first.inputRequests);
    const { requestState } = first;
    const left = await client.call("dig", { requestState, inputResponses: { [a]: yes } });
    expect(Object.keys(left.result?.inputRequests as object)).toEqual([b]);
    const done = await client.call("dig", { requestState, inputResponses: { [b]: { action: "decline" } } });
    expect(done.result).toMatchObject({ content: [{ text: JSON.stringify([yes, { action: "decline" }]) }] });
  });

  it("a bad answer is refused and asked for again; a state that nobody knows is refused with what to do", async () => {
    const { client } = await scene((ctx) => ctx.elicit({ message: "?", requestedSchema: SURE }));
    const { inputRequests, requestState } = (await client.call("dig")).result as unknown as Round;
    const [key = ""] = Object.keys(inputRequests);
    const bad = { requestState, inputResponses: { [key]: { action: "accept", content: { sure: 1 } } } };
    expect((await client.call("dig", bad)).error).toMatchObject({ code: -32602 });
    const again = await client.call("dig", { requestState, inputResponses: {} });
    expect(again.result).toMatchObject({ resultType: "input_required", requestState });
    const unknown = { requestState: "claimcheck.call.AAAA", inputResponses: { [key]: yes } };
    expect((await client.call("dig", unknown)).error?.message).toMatch(/call again without it/);
    expect((await client.call("dig", { requestState, inputResponses: { [key]: yes } })).result).toMatchObject({
      structuredContent: yes,
    });
  });

  it("a client that did not declare it is not asked, and the tool's error says so", async () => {
    const { connect } = await scene((ctx) => ctx.elicit({ message: "?", requestedSchema: SURE }));
    const { result } = await connect({ extensions: [] }).call("dig");
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("did not declare") }] });
  });

  it("a question that times out between the rounds ends the call: the late answer finds it over", async () => {
    let ended = false;
    const { client } = await scene(async (ctx) => {
      await ctx.elicit({ message: "?", requestedSchema: SURE, timeoutMs: 10 }).catch(() => {});
      ended = true;
    });
    const { inputRequests, requestState } = (await client.call("dig")).result as unknown as Round;
    await eventually(() => ended);
    await new Promise((resolve) => setImmediate(resolve));
    const [key = ""] = Object.keys(inputRequests);
    const late = await client.call("dig", { requestState, inputResponses: { [key]: yes } });
    expect(late.error).toMatchObject({ code: -32602 });
  });
});
