/** A call of 2026-07-28 that takes long: nothing between client and server takes the silence for the end of it. */
import { FakeClock } from "@claimcheck/core/testing";
import { expect, it } from "vitest";
import { inTime } from "../../src/http/late-response.js";
import type { ToolContext } from "../../src/index.js";
import { envelopeOf } from "../../src/testing/index.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { HttpClient, serving } from "./http-client.js";

const LATE_MS = 5_000;
const KEEP_ALIVE_MS = 15_000;

/** A call of a tool that has begun, on a server whose clock stands still. */
async function calling(dig: (ctx: ToolContext) => unknown, meta: object = {}, signal?: AbortSignal) {
  const clock = new FakeClock();
  const begun = gate();
  const { serving: served } = await serving(
    (own, server) =>
      own.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
        begun.open();
        return dig(ctx);
      }),
    { auth: "none", clock },
  );
  const before = clock.pending;
  const client = new HttpClient(served.url, {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "dig",
  });
  const params = { name: "dig", arguments: {}, _meta: { ...envelopeOf({}), ...meta } };
  const response = client.post("tools/call", params, { id: 7, ...(signal !== undefined && { signal }) });
  await begun.promise;
  return { response, clock, timers: () => clock.pending - before };
}

it("is answered with a stream when it has taken a while, which says that it is alive and then has the answer", async () => {
  const end = gate<string>();
  const { response, clock, timers } = await calling(() => end.promise);
  await clock.advance(LATE_MS);
  const { status, headers, body } = await response;
  expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  await clock.advance(2 * KEEP_ALIVE_MS);
  end.open("dug");
  const text = await new Response(body).text();
  expect(text).toMatch(/^(: keepalive\n\n){3}event: message\ndata: [^\n]*\n\n$/);
  const { id, result } = JSON.parse(text.split("data: ")[1] ?? "");
  expect({ id, result }).toMatchObject({ id: 7, result: { resultType: "complete", content: [{ text: "dug" }] } });
  expect(timers()).toBe(0);
});

it("has what it tells on that stream, before the answer", async () => {
  const go = gate();
  const { response, clock } = await calling(
    async (ctx) => {
      await go.promise;
      ctx.log("info", "clay");
      return "dug";
    },
    { "io.modelcontextprotocol/logLevel": "info" },
  );
  await clock.advance(LATE_MS);
  const { body } = await response;
  go.open();
  const text = await new Response(body).text();
  expect(text.indexOf("clay")).toBeGreaterThan(text.indexOf("keepalive"));
  expect(text.indexOf("dug")).toBeGreaterThan(text.indexOf("clay"));
});

it("is stopped when its caller hangs up", async () => {
  const stopped = gate<boolean>();
  const controller = new AbortController();
  const { response, clock, timers } = await calling(
    async (ctx) => stopped.open(await ctx.cancelToken.wait()),
    {},
    controller.signal,
  );
  await clock.advance(LATE_MS);
  await response;
  controller.abort();
  expect(await stopped.promise).toBe(true);
  await expect.poll(timers).toBe(0);
});

it("whose caller has gone by the time there is an answer has the stream of that cancelled", async () => {
  const clock = new FakeClock();
  const answer = gate<Response>();
  const late = inTime(answer.promise, clock);
  await clock.advance(LATE_MS);
  await (await late).body?.cancel();
  const cancelled = gate();
  const body = new ReadableStream({ cancel: () => cancelled.open() });
  answer.open(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  await cancelled.promise;
  expect(clock.pending).toBe(0);
});

it("is plain JSON when it is not late", async () => {
  const end = gate<string>();
  const { response, clock, timers } = await calling(() => end.promise);
  await clock.advance(LATE_MS - 1);
  end.open("dug");
  const { headers } = await response;
  expect(headers.get("content-type")).toBe("application/json");
  expect(timers()).toBe(0);
});
