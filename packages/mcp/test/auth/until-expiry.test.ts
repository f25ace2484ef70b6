/** Streams that stand open, and the tokens that opened them. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { FakeClock } from "@claimcheck/core/testing";
import type { AuthInfo, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { isStanding, untilExpiry } from "../../src/auth/until-expiry.js";
import type { Tasks } from "../../src/index.js";
import { HttpClient, serving } from "../http/http-client.js";
import { overHttp } from "../listen/carriers.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";

/** Tokens that all expire when `clock`, which starts now, has moved on by a minute. */
function oneMinute() {
  const clock = new FakeClock(Date.now());
  const expiresAt = Math.ceil(clock.now() / 1000) + 60;
  const verifyToken = async (token: string): Promise<AuthInfo> => ({
    token,
    clientId: "c",
    scopes: [],
    expiresAt,
    extra: { iss: "i", sub: "ann" },
  });
  return { clock, auth: { verifyToken } };
}

async function expiring(handler: () => unknown = () => "dug") {
  const { auth, clock } = oneMinute();
  const scene = await serving((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, handler), {
    auth,
    clock,
  });
  const client = new HttpClient(scene.serving.url, { authorization: "Bearer t" });
  return { ...scene, clock, client };
}

describe("at the end of its token's life", () => {
  it("a session's own stream ends, says why to whoever looks, and leaves the session", async () => {
    const { client, clock } = await expiring();
    await client.initialize();
    const response = await fetch(client.url, { headers: client.headers });
    await clock.advance(59_000);
    const text = response.text();
    await clock.advance(2000);
    expect(await text).toContain(": the bearer token has expired");
    expect((await client.post("ping", {})).status).toBe(200);
    const again = await client.listen();
    again.close();
  });

  it("a subscription to tasks ends, and leaves nothing behind", async () => {
    const { auth, clock } = oneMinute();
    const running = gate();
    const register = (tasks: Tasks, server: McpServer) =>
      void tasks.registerTool(server, "dig", OPTIONAL, () => running.promise);
    const { tasks, connect } = await overHttp(register, { http: { auth, clock } });
    const listener = connect("t");
    const { result } = await listener.request("tools/call", { name: "dig", arguments: {} });
    const stream = await listener.listen({ taskIds: [result?.taskId] });
    expect(stream.status).toBe(200);
    expect(tasks.runtime.subscriptions.size).toBe(1);
    await clock.advance(61_000);
    await eventually(() => stream.hasEnded && tasks.runtime.subscriptions.size === 0);
    running.open();
  });

  it("a request that is being answered is answered", async () => {
    const running = gate<string>();
    const { client, clock } = await expiring(() => running.promise);
    await client.initialize();
    const answer = client.request("tools/call", { name: "dig", arguments: {} });
    await clock.advance(61_000);
    running.open("dug");
    expect(await answer).toMatchObject({ result: { content: [{ text: "dug" }] } });
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("the time that a stream is given", () => {
  const stream = (onCancel = () => {}) =>
    new Response(new ReadableStream({ cancel: onCancel }), { headers: { "content-type": "text/event-stream" } });

  it("costs a timer for as long as it is open, and none after", async () => {
    const clock = new FakeClock();
    let cancelled = 0;
    const bounded = untilExpiry(
      stream(() => void cancelled++),
      clock.now() + 1000,
      clock,
    );
    expect(clock.pending).toBe(1);
    await bounded.body?.cancel();
    expect([clock.pending, cancelled]).toEqual([0, 1]);
  });

  it("keeps nothing of what has been read meanwhile", async () => {
    const clock = new FakeClock();
    const sent: WeakRef<Uint8Array>[] = [];
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const chunk = new Uint8Array(1000);
        sent.push(new WeakRef(chunk));
        controller.enqueue(chunk);
      },
    });
    const response = new Response(source, { headers: { "content-type": "text/event-stream" } });
    const reader = untilExpiry(response, clock.now() + 1000, clock).body?.getReader();
    for (let read = 0; read < 100; read += 1) await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
    expect(sent.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(20);
    await reader?.cancel();
  });

  it("that is over already ends it at once", async () => {
    const clock = new FakeClock();
    const bounded = untilExpiry(stream(), clock.now() - 1, clock);
    await clock.advance(0);
    expect(await bounded.text()).toContain("expired");
  });

  it("is nothing to an answer that is no stream", () => {
    const response = Response.json({});
    expect(untilExpiry(response, 0, new FakeClock())).toBe(response);
  });

  it.each([
    ["GET", undefined, true],
    ["POST", { method: "subscriptions/listen" }, true],
    ["POST", { method: "tasks/result" }, false],
    ["POST", [{ method: "tools/call" }], false],
    ["DELETE", undefined, false],
  ])("%s of %j: %j", (method, body, expected) => {
    expect(isStanding(method, body)).toBe(expected);
  });
});
