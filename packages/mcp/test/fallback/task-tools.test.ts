/** Plain tools for clients that know no tasks: what each answers, and to whom. */
import type { JsonObject } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { registerTaskTools } from "../../src/fallback/task-tools.js";
import type { ToolContext } from "../../src/index.js";
import { modernScene } from "../wire/modern-client.js";
import { gate, type RawClient, type Reply } from "../wire/raw-client.js";
import { OPTIONAL, type Scene, scene, untilStopped } from "../wire/servers.js";

const NAMES = ["task_list", "task_status", "task_result", "task_cancel", "task_answer"];

function tools(dig: (ctx: ToolContext) => unknown, options: object = {}): Scene {
  return scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => dig(ctx) as never), {
    fallbackTools: true,
    ownership: "single-user",
    ...options,
  });
}

const ask = (client: RawClient, name: string, args: object) => client.call(name, { arguments: args });
const structured = (reply: Reply) => reply.result?.structuredContent as JsonObject & { task: JsonObject };
const textOf = ({ result }: Reply) =>
  ((result?.content ?? []) as { text: string }[]).map(({ text }) => text).join("\n");

it("are listed where they were asked for, each with what it is for", async () => {
  const client = await tools(() => "").connect();
  const listed = (await client.request("tools/list")).result?.tools as { name: string; description: string }[];
  expect(listed.map(({ name }) => name).sort()).toEqual(["dig", ...NAMES].sort());
  for (const { name, description } of listed) if (name !== "dig") expect(description.length).toBeGreaterThan(40);
});

it("have one schema each for all servers, since the SDK keeps whatever it compiles for ever", () => {
  const [one, other] = [0, 1].map(() => {
    const schemas: unknown[] = [];
    const registerTool = (_name: string, { inputSchema }: { inputSchema: unknown }) => schemas.push(inputSchema);
    registerTaskTools({ mcp: { registerTool } } as never);
    return schemas;
  });
  expect(one).toHaveLength(NAMES.length);
  for (const [index, schema] of (one ?? []).entries()) expect(other?.[index]).toBe(schema);
});

describe("an id that is foreign, expired or invented", () => {
  it.each(["task_status", "task_result", "task_cancel", "task_answer"])(
    "is answered by %s word for word the same, as a result",
    async (name) => {
      const clock = new FakeClock();
      const { connect } = tools(() => "dug", { ownership: "session", clock });
      const [client, other] = [await connect(), await connect()];
      const foreign = (await other.callTask("dig")).taskId;
      const expired = (await client.callTask("dig", { task: { ttl: 1 } })).taskId;
      await eventually(async () =>
        textOf(await ask(client, "task_status", { task_id: expired })).includes("completed"),
      );
      await clock.advance(2);
      const question = "q1";
      const answers = [];
      for (const task_id of [foreign, expired, "tsk_invented", "x".repeat(10_000), "__proto__", ""]) {
        answers.push((await ask(client, name, name === "task_answer" ? { task_id, question } : { task_id })).result);
      }
      expect(answers[0]).toMatchObject({ isError: true, content: [{ type: "text", text: "No such task." }] });
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    },
  );
});

it.each(NAMES)("%s refuses arguments that are none, and names them", async (name) => {
  const client = await tools(() => "").connect();
  const reply = await ask(client, name, { task_id: 5, cursor: 5, question: "q1" });
  expect(reply.result?.isError ?? reply.error).toBeTruthy();
  expect(JSON.stringify(reply)).toMatch(/task_id|cursor/);
});

it("without an identity nothing is answered but that one is needed", async () => {
  const client = await tools(() => "", { ownership: "principal" }).connect();
  for (const name of NAMES) {
    const reply = await ask(client, name, { task_id: "tsk_x", question: "q1" });
    expect(reply.result).toMatchObject({ isError: true });
    expect(textOf(reply)).toContain("identity");
  }
});

describe("task_list", () => {
  it("lists the caller's tasks newest first with their tools, page by page", async () => {
    const clock = new FakeClock();
    const { connect } = tools(() => "dug", { clock });
    const client = await connect();
    const ids: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      clock.sleep(1);
      ids.unshift((await client.callTask("dig")).taskId);
    }
    const first = structured(await ask(client, "task_list", {}));
    const { nextCursor } = first;
    const second = structured(await ask(client, "task_list", { cursor: nextCursor }));
    const listed = [...(first.tasks as JsonObject[]), ...(second.tasks as JsonObject[])];
    expect(listed.map(({ taskId }) => taskId)).toEqual(ids);
    expect(listed[0]).toMatchObject({ tool: "dig", status: expect.any(String), createdAt: expect.any(String) });
    expect(second.nextCursor).toBeUndefined();
  });

  it("shows nobody else's", async () => {
    const { connect } = tools(() => "dug", { ownership: "session" });
    const [client, other] = [await connect(), await connect()];
    await other.callTask("dig");
    expect(structured(await ask(client, "task_list", {})).tasks).toEqual([]);
  });

  it("refuses a cursor that no listing gave", async () => {
    const client = await tools(() => "").connect();
    expect((await ask(client, "task_list", { cursor: "x" })).result).toMatchObject({ isError: true });
  });
});

describe("task_status", () => {
  it("answers at once: status, progress, output so far, and how to go on", async () => {
    const { connect } = tools(({ task, signal }) => {
      task?.recordOutput(["clay", { feet: 1 }]);
      task?.sendProgress(1, { total: 3, message: "first foot" });
      return untilStopped({ signal });
    });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(async () => structured(await ask(client, "task_status", { task_id })).progress !== undefined);
    const reply = await ask(client, "task_status", { task_id });
    expect(structured(reply)).toMatchObject({
      task: { taskId: task_id, status: "working", tool: "dig" },
      output: 'clay\n{"feet":1}',
      progress: { current: 1, total: 3, message: "first foot" },
    });
    expect(textOf(reply)).toContain("task_result");
  });

  it("of a task that has ended says how, keeps its output, and leads to the result", async () => {
    const { connect } = tools(({ task }) => {
      task?.recordOutput(["clay"]);
      throw new Error("rock");
    });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(async () => structured(await ask(client, "task_status", { task_id })).task.status === "failed");
    const reply = await ask(client, "task_status", { task_id });
    expect(structured(reply)).toMatchObject({ task: { statusMessage: "rock" }, output: "clay" });
    expect(textOf(reply)).toContain("has ended (failed)");
  });
});

describe("task_result", () => {
  it("answers what the tool answers, whole, and as often as it is asked", async () => {
    const whole = { content: [{ type: "text", text: "a" }], structuredContent: { a: 1 }, _meta: { "v/x": 1 } };
    const { connect } = tools(() => whole);
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    for (let n = 0; n < 3; n += 1) expect((await ask(client, "task_result", { task_id })).result).toEqual(whole);
  });

  it("waits, and answers as soon as the task has ended", async () => {
    const clock = new FakeClock();
    const digging = gate<string>();
    const { connect } = tools(() => digging.promise, { clock });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    const idle = clock.pending;
    const result = ask(client, "task_result", { task_id });
    await eventually(() => clock.pending > idle);
    digging.open("dug");
    expect((await result).result).toMatchObject({ content: [{ text: "dug" }] });
    expect(clock.pending).toBe(idle);
  });

  it("waits as long as it is told, and then says how the task stands and how to go on", async () => {
    const clock = new FakeClock();
    const { connect } = tools(untilStopped, { clock });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    for (const [args, ms] of [
      [{ wait_seconds: 3 }, 3000],
      [{}, 50_000],
    ] as const) {
      let reply: Reply | undefined;
      void ask(client, "task_result", { task_id, ...args }).then((given) => {
        reply = given;
      });
      await clock.advance(ms - 1);
      await client.request("ping");
      expect(reply).toBeUndefined();
      await clock.advance(1);
      await eventually(() => reply !== undefined);
      expect(structured(reply as Reply)).toMatchObject({
        task: { status: "working" },
        next: expect.stringContaining(task_id),
      });
    }
    expect(structured(await ask(client, "task_result", { task_id, wait_seconds: 0 })).task.status).toBe("working");
  });

  it.each([-1, 601, "3"])("refuses to wait %j seconds", async (wait_seconds) => {
    const client = await tools(() => "").connect();
    const reply = await ask(client, "task_result", { task_id: "tsk_x", wait_seconds });
    expect(JSON.stringify(reply)).toContain("wait_seconds");
  });

  it("whose caller cancels stops waiting, and stops nothing else", async () => {
    const { tasks, connect } = tools(untilStopped);
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    void client.request("tools/call", { name: "task_result", arguments: { task_id } }, 1);
    await eventually(() => tasks.runtime.gauges.watchedTasks > 0);
    await client.request("ping");
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await client.request("ping");
    expect(structured(await ask(client, "task_status", { task_id })).task.status).toBe("working");
    expect(client.log.some((message) => "id" in message && message.id === 1)).toBe(false);
  });

  it("of a failed task is the error after what it had produced; of a protocol error the error with its code", async () => {
    const { ProtocolError } = await import("@modelcontextprotocol/server");
    const { connect } = tools(() => Promise.reject(new ProtocolError(-32042, "no", { why: "rock" })));
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    expect((await ask(client, "task_result", { task_id })).result).toMatchObject({
      isError: true,
      content: [{ text: "no" }],
      structuredContent: { error: { code: -32042, message: "no", data: { why: "rock" } } },
    });
  });

  it("carries what is asked to a client that can be asked, whichever one it is", async () => {
    const { connect } = tools(async (ctx) => JSON.stringify(await ctx.elicit({ message: "?", requestedSchema: {} })));
    const creator = await connect({ capabilities: { elicitation: {} } });
    const { taskId: task_id } = await creator.callTask("dig");
    const client = await connect({ capabilities: { elicitation: {} } });
    const result = ask(client, "task_result", { task_id });
    await eventually(() => client.heard.length > 0);
    const asked = client.log.find((message) => "method" in message) as Reply;
    await client.send({ jsonrpc: "2.0", id: asked.id, result: { action: "cancel" } });
    expect((await result).result).toMatchObject({ content: [{ text: '{"action":"cancel"}' }] });
  });

  it("asks a client of 2026 in rounds", async () => {
    const { connect } = await modernScene(
      (tasks, server) =>
        tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) =>
          JSON.stringify(await ctx.elicit({ message: "?", requestedSchema: {} })),
        ),
      { fallbackTools: true },
    );
    const creator = connect({ capabilities: { elicitation: {} } });
    const task_id = await creator.create("dig");
    const client = connect({ extensions: [], capabilities: { elicitation: {} } });
    const first = (await client.call("task_result", { arguments: { task_id } })).result;
    expect(first).toMatchObject({ resultType: "input_required" });
    const [key] = Object.keys(first?.inputRequests as object);
    const { requestState } = first as { requestState: string };
    const inputResponses = { [key as string]: { action: "accept", content: {} } };
    const second = await client.call("task_result", { arguments: { task_id }, inputResponses, requestState });
    expect(second.result).toMatchObject({ content: [{ text: '{"action":"accept","content":{}}' }] });
  });
});

describe("task_cancel", () => {
  it("stops the work and answers what it had produced", async () => {
    const { tasks, connect } = tools(({ task, signal }) => {
      task?.recordOutput(["clay"]);
      return untilStopped({ signal });
    });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(() => tasks.runtime.gauges.running === 1);
    expect(structured(await ask(client, "task_cancel", { task_id }))).toMatchObject({
      task: { status: "cancelled" },
      output: "clay",
    });
    expect(tasks.runtime.gauges.running).toBe(0);
    const { result } = await ask(client, "task_result", { task_id });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: "clay" }, { text: expect.stringContaining("cancelled") }],
    });
  });

  it("of a task that has ended answers it as it is", async () => {
    const client = await tools(() => "dug").connect();
    const { taskId: task_id } = await client.callTask("dig");
    await ask(client, "task_result", { task_id });
    expect(structured(await ask(client, "task_cancel", { task_id })).task.status).toBe("completed");
  });
});

describe("task_answer", () => {
  const two = () =>
    tools(async (ctx) =>
      JSON.stringify(
        await Promise.all([
          ctx.elicit({ message: "A?", requestedSchema: { type: "object", properties: { a: { type: "string" } } } }),
          ctx.elicit({ url: "https://example.com/pay" }),
        ]),
      ),
    );

  it("takes a form's content and a page's outcome, one by one, by the names that the task gives", async () => {
    const client = await two().connect({ capabilities: { elicitation: { form: {}, url: {} } } });
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(
      async () => (structured(await ask(client, "task_status", { task_id })).questions as unknown[])?.length === 2,
    );
    const { questions } = structured(await ask(client, "task_status", { task_id })) as unknown as {
      questions: { question: string; url?: string }[];
    };
    const [form, page] = questions;
    expect(page?.url).toBe("https://example.com/pay");
    const after = await ask(client, "task_answer", { task_id, question: form?.question, content: { a: "x" } });
    expect(structured(after)).toMatchObject({ task: { status: "input_required" }, questions: [page] });
    await ask(client, "task_answer", { task_id, question: page?.question, action: "decline" });
    expect(textOf(await ask(client, "task_result", { task_id }))).toBe(
      '[{"action":"accept","content":{"a":"x"}},{"action":"decline"}]',
    );
  });

  it("refuses what is not asked, or not any more, and says what is", async () => {
    const client = await two().connect({ capabilities: { elicitation: { form: {}, url: {} } } });
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(
      async () => (structured(await ask(client, "task_status", { task_id })).questions as unknown[])?.length === 2,
    );
    const refused = await ask(client, "task_answer", { task_id, question: "__proto__" });
    expect(refused.result?.isError).toBe(true);
    expect(textOf(refused)).toMatch(/What is asked: \S+, \S+\./);
  });

  it("is no person's to give to what a model or a client is asked", async () => {
    const { connect } = tools((ctx) => ctx.listRoots());
    const client = await connect({ capabilities: { roots: {} } });
    const { taskId: task_id } = await client.callTask("dig");
    await eventually(async () => structured(await ask(client, "task_status", { task_id })).questions !== undefined);
    const { questions } = structured(await ask(client, "task_status", { task_id })) as unknown as {
      questions: { question: string }[];
    };
    const reply = await ask(client, "task_answer", { task_id, question: questions[0]?.question, content: {} });
    expect(textOf(reply)).toContain("roots/list");
    expect(reply.result?.isError).toBe(true);
  });
});

describe("limits", () => {
  it("asking in vain too often is refused until it is less; fetching what has ended is free", async () => {
    const clock = new FakeClock();
    const { connect } = tools(untilStopped, { limits: { pollsPerSecond: 1 }, clock });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    const asking = ["task_status", "task_list", "task_status", "task_list", "task_status"];
    for (const name of asking) expect((await ask(client, name, { task_id })).result?.isError).toBeUndefined();
    for (const name of ["task_status", "task_list"]) {
      const refused = await ask(client, name, { task_id });
      expect(refused.result).toMatchObject({
        isError: true,
        structuredContent: { error: { code: -32005, data: { limit: "pollsPerSecond", retryAfterMs: 1000 } } },
      });
    }
    expect((await ask(client, "task_cancel", { task_id })).result?.isError).toBeUndefined();
    await clock.advance(1000);
    for (let n = 0; n < 10; n += 1) {
      expect(structured(await ask(client, "task_status", { task_id })).task.status).toBe("cancelled");
    }
  });

  it("too many that wait are told so", async () => {
    const { tasks, connect } = tools(untilStopped, { limits: { waitersPerOwner: 1 } });
    const client = await connect();
    const { taskId: task_id } = await client.callTask("dig");
    void ask(client, "task_result", { task_id });
    await eventually(() => tasks.runtime.gauges.watchedTasks > 0);
    await client.request("ping");
    const refused = await ask(client, "task_result", { task_id });
    expect(refused.result).toMatchObject({ isError: true, structuredContent: { error: { code: -32005 } } });
  });
});
