/** Tasks that wait for their turn for longer than the token that they came with is valid. */
import { InProcessRunner } from "@claimcheck/core";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { afterEach, expect, it, vi } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { TasksOptions } from "../../src/index.js";
import { HttpClient, serving } from "../http/http-client.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";

const START = 1_900_000_000_000;

afterEach(() => void vi.useRealTimers());

/** A server on which one task runs at a time, and what its tool sees of its requests. */
async function waitingInLine(options: TasksOptions) {
  // The instant alone: what the tokens are checked by.
  vi.useFakeTimers({ now: START, toFake: ["Date"] });
  const first = gate();
  const seen: Record<string, unknown>[] = [];
  const verifyToken = async (token: string): Promise<AuthInfo> => ({
    token,
    clientId: "app",
    scopes: [],
    expiresAt: START / 1000 + 60,
    extra: { iss: "https://id.example", sub: "ann" },
  });
  const scene = await serving(
    (tasks, server) =>
      tasks.registerTool(server, "look", OPTIONAL, async (_args, ctx) => {
        seen.push(ctx.request);
        await first.promise;
      }),
    { auth: { verifyToken } },
    { runner: new InProcessRunner({ concurrency: 1 }), ...options },
  );
  const client = new HttpClient(scene.serving.url, { authorization: "Bearer planted-token" });
  await client.initialize();
  for (let n = 0; n < 2; n += 1) await client.request("tools/call", { name: "look", arguments: {}, task: {} });
  await eventually(() => seen.length === 1);
  return { ...scene, client, seen, letTheNextBegin: () => first.open() };
}

const ANN = { issuer: "https://id.example", subject: "ann", clientId: "app" };

it("a tool never sees the token, before it expires or after, and still knows whose the task is", async () => {
  const { seen, letTheNextBegin } = await waitingInLine({});
  vi.setSystemTime(START + 61_000);
  letTheNextBegin();
  await eventually(() => seen.length === 2);
  for (const request of seen) {
    expect(request.principal).toEqual(ANN);
    expect(JSON.stringify(request)).not.toContain("planted-token");
  }
});

it("a tool that asks for the token gets it as long as it is valid", async () => {
  const { seen, client, letTheNextBegin } = await waitingInLine({ keepHeaders: ["Authorization", "Accept"] });
  expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer planted-token", accept: expect.any(String) });
  vi.setSystemTime(START + 61_000);
  expect((await client.post("ping", {})).status).toBe(401);
  letTheNextBegin();
  await eventually(() => seen.length === 2);
  expect(seen[1]).toMatchObject({ principal: ANN, headers: { accept: expect.any(String) } });
  expect(JSON.stringify(seen[1])).not.toContain("planted-token");
});
