/** Clients of sessions whose connections break, and that come back with the last event id that they have seen. */
import { Deadlines } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { ToolContext } from "../../src/index.js";
import { ResumableStreams } from "../../src/resumption/resumable-streams.js";
import { eventsOf, HttpClient, messagesOf, replyOf, type StreamEvent, serving } from "../http/http-client.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";

const RESUME_MS = 30_000;

/** Serves a tool that does what the test says, and a session that calls it. */
async function digging(dig: (ctx: ToolContext) => unknown, options: { resumeMs?: number } = {}) {
  const clock = new FakeClock();
  const scene = await serving(
    (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, async (_args, ctx) => (await dig(ctx)) as string),
    { auth: "none", clock, ...options },
    { ownership: "single-user" },
  );
  const { url } = scene.serving;
  const session = async (): Promise<HttpClient> => {
    const client = new HttpClient(url);
    await client.initialize();
    return client;
  };
  return { ...scene, clock, session, client: await session() };
}

/** A stream that can be broken off, read event by event. */
class Reading {
  readonly response: Response;
  readonly #connection: AbortController;
  readonly #events: AsyncGenerator<StreamEvent>;
  lastEventId = "";

  constructor(response: Response, connection: AbortController) {
    this.response = response;
    this.#connection = connection;
    this.#events = eventsOf(response);
    onTestFinished(() => connection.abort());
  }

  /** The next event's message; `undefined` when the stream is over, `null` of an event that brings no more than its id. */
  async event() {
    const { done, value } = await this.#events.next();
    if (done === true) return undefined;
    if (value.id !== undefined) this.lastEventId = value.id;
    return value.message ?? null;
  }

  /** The next message; `undefined` when the stream is over. */
  async next() {
    let message = await this.event();
    while (message === null) message = await this.event();
    return message;
  }

  async rest() {
    const messages = [];
    for (let next = await this.next(); next !== undefined; next = await this.next()) messages.push(next);
    return messages;
  }

  breakOff(): void {
    this.#connection.abort();
  }
}

async function call(client: HttpClient, method: string, params: object, id?: string): Promise<Reading> {
  const connection = new AbortController();
  const response = await client.post(method, params, { signal: connection.signal, ...(id !== undefined && { id }) });
  return new Reading(response, connection);
}

async function get(client: HttpClient, lastEventId?: string): Promise<Reading> {
  const connection = new AbortController();
  const headers = { ...client.headers, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
  return new Reading(await fetch(client.url, { headers, signal: connection.signal }), connection);
}

/** Reads the event that brings no more than an id. */
async function primed(reading: Reading): Promise<Reading> {
  expect(await reading.event()).toBeNull();
  expect(reading.lastEventId).not.toBe("");
  return reading;
}

/** Resolves when the server has seen that a stream broke: it waits for the client then, beside its timer for idle sessions. */
async function seenBroken(clock: FakeClock): Promise<void> {
  await eventually(() => clock.pending === 2);
}

describe("a stream that breaks while its request waits", () => {
  it("brings the result of a task when it is taken up again, and ends with it", async () => {
    const running = gate<string>();
    const { client } = await digging(() => running.promise);
    const { taskId } = await client.callTask("dig");
    const waiting = await primed(await call(client, "tasks/result", { taskId }, "mine"));
    waiting.breakOff();
    running.open("dug");
    const resumed = await get(client, waiting.lastEventId);
    expect(resumed.response.headers.get("mcp-session-id")).toBe(client.sessionId);
    expect(await resumed.rest()).toMatchObject([
      { method: "notifications/tasks/status" },
      { id: "mine", result: { content: [{ text: "dug" }] } },
    ]);
  });

  it("lets a direct call go on, whose progress and answer arrive once each, in order", async () => {
    const stages = [gate(), gate(), gate()];
    let stopped = false;
    const { client, clock } = await digging(async (ctx) => {
      ctx.signal.addEventListener("abort", () => {
        stopped = true;
      });
      for (const [i, stage] of stages.entries()) {
        await stage.promise;
        ctx.sendProgress(i + 1);
      }
      return "dug";
    });
    const first = await primed(await call(client, "tools/call", { name: "dig", _meta: { progressToken: 0 } }));
    stages[0]?.open();
    expect(await first.next()).toMatchObject({ params: { progress: 1 } });
    first.breakOff();
    await seenBroken(clock);
    stages[1]?.open();
    await clock.advance(RESUME_MS - 1);
    const second = await get(client, first.lastEventId);
    expect(await second.next()).toMatchObject({ params: { progress: 2 } });
    await clock.advance(RESUME_MS * 2);
    stages[2]?.open();
    expect(await second.rest()).toMatchObject([
      { params: { progress: 3 } },
      { result: { content: [{ text: "dug" }] } },
    ]);
    expect(stopped).toBe(false);
  });

  it("cancels a direct call for which nobody has come back in time, and not before, however often it broke", async () => {
    const stopped = gate();
    let isStopped = false;
    const { client, clock } = await digging(async (ctx) => {
      await ctx.cancelToken.wait();
      isStopped = true;
      stopped.open();
    });
    let reading = await primed(await call(client, "tools/call", { name: "dig" }));
    for (let times = 0; times < 3; times += 1) {
      reading.breakOff();
      await seenBroken(clock);
      await clock.advance(RESUME_MS - 1);
      reading = await primed(await get(client, reading.lastEventId));
      expect(isStopped).toBe(false);
    }
    reading.breakOff();
    await seenBroken(clock);
    await clock.advance(RESUME_MS);
    await stopped.promise;
  });

  it("releases what waited for a task, and leaves the task, when nobody has come back", async () => {
    const running = gate<string>();
    const { client, clock, tasks } = await digging(() => running.promise);
    const { taskId } = await client.callTask("dig");
    const waiting = await primed(await call(client, "tasks/result", { taskId }));
    waiting.breakOff();
    await seenBroken(clock);
    const before = tasks.runtime.gauges.watchedTasks;
    await clock.advance(RESUME_MS);
    expect([before, tasks.runtime.gauges.watchedTasks]).toEqual([1, 1]);
    running.open("dug");
    expect((await client.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("stops a direct call at once that is cancelled meanwhile, and replays no answer then", async () => {
    const stopped = gate();
    const { client } = await digging(async (ctx) => {
      await ctx.cancelToken.wait();
      stopped.open();
    });
    const reading = await primed(await call(client, "tools/call", { name: "dig" }, "mine"));
    reading.breakOff();
    const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "mine" } };
    await fetch(client.url, { method: "POST", headers: client.headers, body: JSON.stringify(body) });
    await stopped.promise;
    expect((await get(client, reading.lastEventId)).response.status).toBe(204);
  });

  it("brings a question that was asked in the gap, which is answered on the session", async () => {
    const asking = gate();
    const { serving: served } = await digging(async (ctx) => {
      await asking.promise;
      const requestedSchema = { type: "object", properties: { feet: { type: "number" } } } as const;
      const said = await ctx.elicit({ message: "How deep?", requestedSchema });
      return said.action === "accept" ? `${said.content?.feet} feet` : said.action;
    });
    const client = new HttpClient(served.url);
    await client.initialize([], { elicitation: { form: {} } });
    const { taskId } = await client.callTask("dig");
    const waiting = await primed(await call(client, "tasks/result", { taskId }));
    waiting.breakOff();
    asking.open();
    const resumed = await get(client, waiting.lastEventId);
    let question = await resumed.next();
    while (question?.method !== "elicitation/create") question = await resumed.next();
    const body = { jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { feet: 3 } } };
    await fetch(client.url, { method: "POST", headers: client.headers, body: JSON.stringify(body) });
    expect((await resumed.rest()).at(-1)).toMatchObject({ result: { content: [{ text: "3 feet" }] } });
  });

  it("is read by the connection that asked for it last", async () => {
    const running = gate<string>();
    const { client } = await digging(() => running.promise);
    const first = await primed(await call(client, "tools/call", { name: "dig" }));
    const second = await get(client, first.lastEventId);
    expect(await first.event()).toBeUndefined();
    await primed(second);
    running.open("dug");
    expect(await second.rest()).toMatchObject([{ result: { content: [{ text: "dug" }] } }]);
  });

  it("can be taken up again for a while after it has ended, and whoever has read it all is told not to come again", async () => {
    const { client, clock } = await digging(() => "dug");
    const reading = await primed(await call(client, "tools/call", { name: "dig" }));
    const { lastEventId } = reading;
    const [answer] = await reading.rest();
    expect(await (await get(client, lastEventId)).rest()).toEqual([answer]);
    expect((await get(client, reading.lastEventId)).response.status).toBe(204);
    await clock.advance(RESUME_MS);
    expect((await get(client, lastEventId)).response.status).toBe(400);
    expect(clock.pending).toBe(1);
  });

  it("of a client that takes no event without data is not primed, and can be taken up from its first event on", async () => {
    const stages = [gate(), gate()];
    const stopped = gate();
    const { client, clock } = await digging(async (ctx) => {
      void ctx.cancelToken.wait().then(() => stopped.open());
      await stages[0]?.promise;
      ctx.sendProgress(1);
      await stages[1]?.promise;
      return "dug";
    });
    client.headers["mcp-protocol-version"] = "2025-06-18";
    const params = { name: "dig", _meta: { progressToken: 0 } };
    const untold = await call(client, "tools/call", params);
    untold.breakOff();
    await stopped.promise;
    stages[0]?.open();
    const told = await call(client, "tools/call", params);
    expect(await told.next()).toMatchObject({ params: { progress: 1 } });
    told.breakOff();
    await seenBroken(clock);
    stages[1]?.open();
    const resumed = await get(client, told.lastEventId);
    expect(await resumed.rest()).toMatchObject([{ result: { content: [{ text: "dug" }] } }]);
  });

  it("cannot be taken up where that is switched off: no event has an id, and a last event id is not looked at", async () => {
    const { client } = await digging(() => "dug", { resumeMs: 0 });
    const reading = await call(client, "tools/call", { name: "dig" });
    expect(await reading.rest()).toMatchObject([{ result: { content: [{ text: "dug" }] } }]);
    expect(reading.lastEventId).toBe("");
    expect((await get(client, "anything")).response.status).toBe(200);
  });
});

describe("the session's own stream", () => {
  /** Has a task tell so often how it is, once `going` is open. */
  async function telling(times: number) {
    const going = gate();
    const scene = await digging(async (ctx) => {
      await going.promise;
      for (let i = 1; i <= times; i += 1) await ctx.task?.setWorking(`${i} feet`);
      return "dug";
    });
    return { ...scene, going };
  }

  const said = (message: Awaited<ReturnType<Reading["next"]>>): unknown => message?.params?.statusMessage;

  it("brings exactly what fell into the gap, in order, and then goes on, though no event had come before", async () => {
    const { client, going, tasks } = await telling(5);
    const stream = await primed(await get(client));
    const { taskId } = await client.callTask("dig");
    stream.breakOff();
    going.open();
    await tasks.runtime.wait(JSON.stringify(["single-user"]), taskId);
    const resumed = await get(client, stream.lastEventId);
    const missed = [];
    for (let i = 0; i < 5; i += 1) missed.push(said(await resumed.next()));
    expect(missed).toEqual(["1 feet", "2 feet", "3 feet", "4 feet", "5 feet"]);
    expect(await resumed.next()).toMatchObject({ params: { taskId, status: "completed" } });
    const next = (await client.callTask("dig")).taskId;
    expect(await resumed.next()).toMatchObject({ params: { taskId: next, statusMessage: "1 feet" } });
  });

  it("waits for its client as long as the session is there", async () => {
    const { client, going, clock, serving: served } = await telling(1);
    const stream = await primed(await get(client));
    await client.callTask("dig");
    stream.breakOff();
    await clock.advance(RESUME_MS * 10);
    going.open();
    const resumed = await get(client, stream.lastEventId);
    expect(said(await resumed.next())).toBe("1 feet");
    await client.delete();
    expect(await resumed.rest()).toMatchObject([{ params: { status: "completed" } }]);
    const headers = { ...client.headers, "last-event-id": resumed.lastEventId };
    expect((await fetch(served.url, { headers })).status).toBe(404);
  });

  it("opened anew brings what comes from then on, once the old one has broken; there is one at a time", async () => {
    const { client, going } = await telling(1);
    const first = await primed(await get(client));
    expect((await get(client)).response.status).toBe(409);
    first.breakOff();
    let second = await get(client);
    await eventually(async () => {
      if (second.response.status === 409) second = await get(client);
      return second.response.status === 200;
    });
    expect((await get(client, first.lastEventId)).response.status).toBe(400);
    await client.callTask("dig");
    going.open();
    expect(said(await (await primed(second)).next())).toBe("1 feet");
  });

  it("that is asked for in a way that no stream can be answered is refused, and nothing of it is lost", async () => {
    const { client, going } = await telling(1);
    const stream = await primed(await get(client));
    await client.callTask("dig");
    stream.breakOff();
    going.open();
    for (const [header, value, status] of [
      ["accept", "application/json", 406],
      ["mcp-protocol-version", "1999-01-01", 400],
    ] as const) {
      for (const lastEventId of [{}, { "last-event-id": stream.lastEventId }]) {
        const headers = { ...client.headers, [header]: value, ...lastEventId };
        expect((await fetch(client.url, { headers })).status).toBe(status);
      }
    }
    expect(said(await (await get(client, stream.lastEventId)).next())).toBe("1 feet");
  });
});

describe("an event id", () => {
  it("brings nothing of another session, and of its own session nothing of another stream", async () => {
    const running = gate<string>();
    const { client: a, session } = await digging((ctx) => {
      ctx.sendProgress(1);
      return running.promise;
    });
    const b = await session();
    const streams: Reading[] = [];
    for (const client of [a, b]) {
      streams.push(await primed(await get(client)));
      for (const id of ["one", "two"]) {
        const reading = await primed(
          await call(client, "tools/call", { name: "dig", _meta: { progressToken: id } }, id),
        );
        await reading.next();
        streams.push(reading);
      }
    }
    for (const reading of streams) reading.breakOff();
    running.open("dug");
    const ids = streams.map(({ lastEventId }) => lastEventId);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids.slice(0, 3)) {
      const refused = (await get(b, id)).response;
      expect([refused.status, await replyOf(refused)]).toMatchObject([400, { error: { code: -32000 } }]);
    }
    for (const client of [a, b]) {
      const [one, two] = client === a ? [ids[1], ids[2]] : [ids[4], ids[5]];
      expect((await (await get(client, one)).rest()).map((message) => message?.id)).toEqual(["one"]);
      expect((await (await get(client, two)).rest()).map((message) => message?.id)).toEqual(["two"]);
    }
  });

  it.each(["0", "_GET_stream", "__proto__", "a_b", "x".repeat(4000)])("that is none is refused: %.20s", async (id) => {
    const { client } = await digging(() => "dug");
    await client.request("tools/call", { name: "dig" });
    const { response } = await get(client, id);
    expect(response.status).toBe(400);
    for await (const message of messagesOf(response)) {
      expect(message).toMatchObject({ id: null, error: { message: expect.stringContaining("event id") } });
    }
    expect((await client.request("ping")).result).toEqual({});
  });
});

it("a stream that fails is over like any other", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const streams = new ResumableStreams({ resumeMs: RESUME_MS, deadlines, onGivenUp: () => {} });
  const request = new Request("http://localhost/mcp", { headers: { "mcp-protocol-version": "2025-11-25" } });
  const failing = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("failed")) });
  const response = new Response(failing, { headers: { "content-type": "text/event-stream" } });
  const text = await streams.carry(response, request, ["mine"]).text();
  expect(streams.resume(/^id: (.+)$/m.exec(text)?.[1] ?? "", request).status).toBe(204);
});

it("nothing is left of streams that nobody came back for", async () => {
  const { client, clock, tasks } = await digging((ctx) => ctx.cancelToken.wait());
  for (let i = 0; i < 20; i += 1) {
    const reading = await primed(await call(client, "tools/call", { name: "dig" }));
    reading.breakOff();
  }
  await seenBroken(clock);
  await clock.advance(RESUME_MS * 3);
  await eventually(() => tasks.runtime.gauges.watchedTasks === 0);
  expect(clock.pending).toBe(1);
});
